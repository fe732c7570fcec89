import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accounts, path, uri, workspaceWrite, Yard } from './fixture.ts';

/** Exchanges two names (renameat2, number 316 on x86-64 and 276 on arm64), each time for as long as bubblewrap takes for a mount. */
const EXCHANGE = `
  use POSIX; $| = 1; print "swapping\\n";
  my $call = (POSIX::uname())[4] eq "x86_64" ? 316 : 276;
  while (1) { syscall($call, -100, $ARGV[0], -100, $ARGV[1], 2); select(undef, undef, undef, 3e-4) }
`;

describe.each(accounts)('while a command exchanges a writable root for a link, a server run by $name', (account) => {
  let yard: Yard;
  beforeAll(async () => {
    yard = await Yard.open(account);
  });
  afterAll(() => yard[Symbol.asyncDispose]());

  it('builds no sandbox in which the link opens what it leads to', { timeout: 120_000 }, async () => {
    const entries = [...workspaceWrite, path(yard.at('workspace/build'), 'write')];
    const script = `mkdir build; ln -s ../outside link; exec perl -e '${EXCHANGE}' build link`;
    const swapper = await yard.start(script, { entries });
    await swapper.printed('swapping');
    const permissions = { type: 'managed', file_system: { type: 'restricted', entries }, network: 'restricted' };
    const sandbox = { permissions, cwd: uri(yard.workspace), workspaceRoots: [uri(yard.workspace)] };
    const file = { path: uri(yard.at('outside/n')), dataBase64: '', sandbox };
    for (let attempt = 0; attempt < 100; attempt++) {
      await yard.run('echo x > $O/n', { entries });
      await yard.client.call('fs/writeFile', file).catch(() => undefined);
      expect([attempt, existsSync(yard.at('outside/n'))]).toEqual([attempt, false]);
    }
    await yard.client.call('process/terminate', { processId: swapper.id });
  });
});
