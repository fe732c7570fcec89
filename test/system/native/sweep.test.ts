import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { silentLogger } from '../../../src/base/index.ts';
import {
  claimServerNumber,
  familyMark,
  killFamily,
  PROCESS_MASK,
  rememberSandbox,
} from '../../../src/host/os/index.ts';
import { CommandLaunchers } from '../../../src/host/sandbox/index.ts';
import { noAudit } from '../../../src/server/audit/audit-log.ts';
import { defaultConfig } from '../../../src/server/config.ts';
import { ServerCounters } from '../../../src/server/ops/server-counters.ts';
import { ServerSession } from '../../../src/server/session.ts';
import { testHost, testSandboxes } from '../../support/host.ts';
import { appeared, childrenOf, gone, isAlive, processesWith, uniqueSeconds } from '../../support/proc.ts';
import { freshMark, outputMatching, start } from './fixture.ts';

it('a family is killed while every thread of the pool waits', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'exec-server-sweep-'));
  const pipes = Array.from({ length: 8 }, (_, index) => join(folder, String(index)));
  execFileSync('mkfifo', pipes);
  const waiting = pipes.map((pipe) => open(pipe, 'r')); // no process writes, so each occupies a thread
  const mark = freshMark();
  const child = start(['sleep', '600'], { mark });
  expect(await killFamily(mark, PROCESS_MASK)).toBe(1);
  expect(await child.exited).toEqual({ signal: 9 });
  const writers = pipes.map((pipe) => openSync(pipe, 'r+'));
  for (const handle of await Promise.all(waiting)) await handle.close();
  for (const writer of writers) closeSync(writer);
  rmSync(folder, { recursive: true });
});

it('a family is killed when this process has no descriptor left', async () => {
  const mark = freshMark();
  const child = start(['sh', '-c', 'for i in $(seq 200); do sleep 600 & done; echo on; wait'], { mark });
  await outputMatching(child, /on/);
  const taken: number[] = [];
  const before = readdirSync('/proc/self/fd').length;
  execFileSync('prlimit', ['--pid', String(process.pid), `--nofile=${before + 40}:`]);
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'));
  } catch {
    // that was the last one
  }
  try {
    expect(await killFamily(mark, PROCESS_MASK)).toBeGreaterThanOrEqual(201);
  } finally {
    for (const fd of taken) closeSync(fd);
    execFileSync('prlimit', ['--pid', String(process.pid), '--nofile=4096:']);
  }
  expect(await child.exited).toEqual({ signal: 9 });
  expect(await killFamily(mark, PROCESS_MASK)).toBe(0);
});

it('a sandbox is found by its pid namespace when all its marks are changed', async () => {
  const mark = freshMark();
  const seconds = uniqueSeconds();
  const view = ['--unshare-user', '--unshare-pid', '--ro-bind', '/', '/', '--proc', '/proc'];
  const unmark = 'for p in 1 $$; do prlimit --pid $p --rttime=1:1; done';
  const argv = ['bwrap', ...view, '--', 'sh', '-c', `${unmark}; exec sleep ${seconds}`];
  const child = start(argv, { mark });
  const [, inner] = [child.pid, await appeared(seconds).then(([pid]) => pid!)];
  const namespace = BigInt(statSync(`/proc/${inner}/ns/pid`).ino);
  const first = childrenOf(child.pid)[0]!.pid;
  process.kill(child.pid, 'SIGKILL'); // what is left has no mark of ours, and no parent
  await child.exited;
  expect(await killFamily(mark, PROCESS_MASK)).toBe(0);
  expect(isAlive(inner)).toBe(true);
  using _ = rememberSandbox(mark, () => namespace);
  await killFamily(mark, PROCESS_MASK);
  await gone([inner, first]);
  expect(processesWith(seconds)).toEqual([]);
});

it('a sandbox is forgotten when no sweep looks for it any more', async () => {
  let forgotten = 0;
  const forget = () => forgotten++;
  rememberSandbox(freshMark(), () => undefined, forget)[Symbol.dispose]();
  expect(forgotten).toBe(1);
  const memory = rememberSandbox(freshMark(), () => undefined, forget);
  const sweep = killFamily(freshMark(), PROCESS_MASK);
  await Promise.resolve(); // the sweep has begun, and its end takes a turn of the event loop
  memory[Symbol.dispose]();
  expect(forgotten).toBe(1);
  await sweep;
  await new Promise(setImmediate);
  expect(forgotten).toBe(2);
});

it('a session that has started nothing kills no process', async () => {
  const server = claimServerNumber();
  await using launchers = new CommandLaunchers();
  const session = new ServerSession({
    host: testHost(),
    sandboxes: testSandboxes(),
    config: () => defaultConfig,
    log: silentLogger,
    audit: noAudit,
    counters: new ServerCounters(),
    launchers,
    server,
    number: 3,
  });
  await using stranger = start(['sleep', '600'], { mark: familyMark(server, 3, 7) });
  await session[Symbol.asyncDispose]();
  expect(isAlive(stranger.pid)).toBe(true);
});
