import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { EscalationFixture, interceptions } from '../system/escalation/fixture.ts';

/** Sends 10,000 descriptors that are received only when its stdin ends. */
const HOLD = `
import array, os, socket, sys
ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
null = array.array('i', [os.open('/dev/null', os.O_RDONLY)] * 250)
try:
    for _ in range(40): ends[0].sendmsg([b'.'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, null)], socket.MSG_DONTWAIT)
except OSError: pass
print('held', flush=True)
sys.stdin.read()
`;

async function holdDescriptors(): Promise<AsyncDisposable> {
  const holder = spawn('python3', ['-c', HOLD], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(holder.stdout, 'data');
  return {
    [Symbol.asyncDispose]: async () => {
      const ended = once(holder, 'exit');
      holder.stdin.end();
      await ended;
    },
  };
}

const standIns = ['execve-wrapper', 'escalation-stub'];

/** Resolves when a process that stands in for an escalated one sleeps for a time, rather than for an event. */
async function standInSleeps(): Promise<void> {
  const sleeps = (pid: string): boolean => {
    try {
      const program = basename(readlinkSync(`/proc/${pid}/exe`));
      return standIns.includes(program) && readFileSync(`/proc/${pid}/wchan`, 'utf8').includes('nanosleep');
    } catch {
      return false; // it has ended meanwhile, or is a thread of the kernel
    }
  };
  while (!readdirSync('/proc').some((pid) => /^\d+$/.test(pid) && sleeps(pid))) await setImmediate();
}

describe('a user who has as many descriptors in flight as the kernel allows', () => {
  it.each(interceptions)('waits with its escalated execs until there is room (--intercept=%s)', async (intercept) => {
    await using fixture = await EscalationFixture.open({ intercept, rules: 'prefix_rule(pattern = ["true"])' });
    const holder = await holdDescriptors();
    const call = fixture.run('ulimit -n 1000; /bin/true && echo done');

    await standInSleeps();
    await holder[Symbol.asyncDispose]();

    expect(await call).toMatchObject({ exit_code: 0, stdout: 'done\n' });
  });
});
