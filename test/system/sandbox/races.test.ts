import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accounts, path, SandboxFixture, uri, workspaceWrite } from './fixture.ts';

/** Exchanges two names (renameat2, number 316 on x86-64 and 276 on arm64), each time for as long as bubblewrap takes for a mount. */
const EXCHANGE = `
  use POSIX; $| = 1; print "swapping\\n";
  my $call = (POSIX::uname())[4] eq "x86_64" ? 316 : 276;
  while (1) { syscall($call, -100, $ARGV[0], -100, $ARGV[1], 2); select(undef, undef, undef, 3e-4) }
`;

describe.each(accounts)('while a command exchanges a writable root for a link, a server run by $name', (account) => {
  let fixture: SandboxFixture;
  beforeAll(async () => {
    fixture = await SandboxFixture.open(account);
  });
  afterAll(() => fixture[Symbol.asyncDispose]());

  it('builds no sandbox in which the link opens what it leads to', { timeout: 120_000 }, async () => {
    const entries = [...workspaceWrite, path(fixture.at('workspace/build'), 'write')];
    const script = `mkdir build; ln -s ../outside link; exec perl -e '${EXCHANGE}' build link`;
    const swapper = await fixture.start(script, { entries });
    await swapper.printed('swapping');
    const permissions = { type: 'managed', file_system: { type: 'restricted', entries }, network: 'restricted' };
    const sandbox = { permissions, cwd: uri(fixture.workspace), workspaceRoots: [uri(fixture.workspace)] };
    const file = { path: uri(fixture.at('outside/n')), dataBase64: '', sandbox };
    for (let attempt = 0; attempt < 100; attempt++) {
      await fixture.run('echo x > $O/n', { entries });
      await fixture.client.call('fs/writeFile', file).catch(() => undefined);
      expect([attempt, existsSync(fixture.at('outside/n'))]).toEqual([attempt, false]);
    }
    await fixture.client.call('process/terminate', { processId: swapper.id });
  });
});
