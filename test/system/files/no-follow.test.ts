import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FilesFixture } from './fixture.ts';

/** Exchanges two names (renameat2, number 316 on x86-64 and 276 on arm64) until its input ends. */
const EXCHANGE = `
  use POSIX; $| = 1; print "swapping\n";
  my $call = (POSIX::uname())[4] eq "x86_64" ? 316 : 276;
  vec(my $in, 0, 1) = 1;
  until (select(my $ready = $in, undef, undef, 0)) {
    for (1 .. 2) { syscall($call, -100, $ARGV[0], -100, $ARGV[1], 2) == 0 or die "$!"; }
  }
`;

let fixture: FilesFixture;
beforeAll(async () => {
  fixture = await FilesFixture.open();
});
afterAll(() => fixture[Symbol.asyncDispose]());

describe('a path without links', () => {
  it('leads nowhere else while its directory is swapped for a link again and again', async () => {
    mkdirSync(fixture.at('outside'));
    mkdirSync(fixture.at('real'));
    symlinkSync('outside', fixture.at('trap'));
    // One exchange of names at a time, so that there is always a directory or the link and never nothing.
    const swapper = spawn('perl', ['-e', EXCHANGE, fixture.at('real'), fixture.at('trap')], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    await once(swapper.stdout, 'data');
    const codes = new Map<number, number>();
    const attempt = (n: number) =>
      Promise.all([
        fixture.write(`real/f${n}`, 'x', { followSymlinks: false }),
        fixture.call('fs/createDirectory', { path: fixture.uri(`real/d${n}/e`), followSymlinks: false }),
      ]).then(
        () => 0,
        (error: { code: number }) => error.code,
      );
    for (let round = 0; round < 60; round++) {
      const outcomes = await Promise.all(Array.from({ length: 25 }, (_, n) => attempt(round * 25 + n)));
      for (const code of outcomes) codes.set(code, (codes.get(code) ?? 0) + 1);
    }
    swapper.stdin.end();
    await once(swapper, 'exit');
    // Both sides of the race were met, and a directory that turned into a link is the only obstacle.
    expect([...codes.keys()].sort()).toEqual([-32603, 0]);
    expect(readdirSync(fixture.at('outside'))).toEqual([]);
  });
});
