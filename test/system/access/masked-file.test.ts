import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { connect } from '../../support/wire-client.ts';
import { path, readOnly, uri } from '../sandbox/fixture.ts';
import { bearer, TokenFixture } from './fixture.ts';

it('a sandboxed command that runs while a token is added neither sees the file nor puts another in its place', async () => {
  using fixture = new TokenFixture();
  const secret = await fixture.add('ci', 'run,view');
  await using server = await fixture.server();
  await using client = await connect(server.url, bearer(secret));
  const added = join(fixture.folder, 'added');
  const script = `echo started; while ! [ -e ${added} ]; do sleep 0.05; done; cat ${fixture.file}; mv ${fixture.file} moved`;
  const command = await client.start({
    argv: ['/bin/sh', '-c', script],
    cwd: uri(fixture.folder),
    sandbox: {
      permissions: {
        type: 'managed',
        file_system: { type: 'restricted', entries: [...readOnly, path(fixture.folder, 'write')] },
        network: 'restricted',
      },
    },
  });
  await command.printed('started');

  await fixture.add('other', 'view');
  writeFileSync(added, '');
  await command.closed();

  expect(command.output('stdout')).toBe('started\n');
  expect(command.output('stderr')).toMatch(/Permission denied.*Device or resource busy/s);
});
