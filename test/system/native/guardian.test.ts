import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimServerNumber, familyMark, startGuardian } from '../../../src/host/os/index.ts';
import { bundledOs, gone, isAlive, outputMatching, run, start } from './fixture.ts';

let os = '';
beforeAll(async () => {
  os = await bundledOs();
});
afterAll(() => rm(os));

/** A server with a guardian, a child and a runaway; prints their process ids. */
function server(number: number): string[] {
  const mark = familyMark(number, 1, 1);
  const script = `
    const os = await import(${JSON.stringify(os)});
    await os.startGuardian(${number});
    const runaway = 'setsid sh -c "(sleep 600 & echo \\\\$!) &"; exec sleep 600';
    const env = { PATH: process.env.PATH };
    const child = os.spawn({ argv: ['sh', '-c', runaway], cwd: '/', env, io: { type: 'pipe', stdin: 'closed' }, mark: ${mark}n });
    for await (const event of child.events) {
      const { buffer, start, end } = event.chunk;
      console.log(child.pid, Number(Buffer.from(buffer.latin1Slice(start, end), 'base64').toString()), 'running');
    }`;
  return [process.execPath, '--input-type=module', '-e', script];
}

describe('the guardian', () => {
  it('kills everything when the server is killed without warning', async () => {
    const node = start(server(claimServerNumber()), { mark: 0n });
    const [, leader, runaway] = await outputMatching(node, /(\d+) (\d+) running/);
    process.kill(node.pid, 'SIGKILL');
    expect(await node.exited).toEqual({ signal: 9 });
    await Promise.all([gone(Number(leader)), gone(Number(runaway))]);
  });

  it('ends without killing anything when it is disposed', async () => {
    const number = claimServerNumber();
    const child = start(['sleep', '600'], { mark: familyMark(number, 1, 1) });
    const guardian = await startGuardian(number);
    await guardian[Symbol.asyncDispose]();
    await guardian[Symbol.asyncDispose]();
    expect(child.signal(0)).toBe(true);
    await child[Symbol.asyncDispose]();
  });

  it('survives the signals that end a server', async () => {
    const number = claimServerNumber();
    const guardian = await startGuardian(number);
    const pid = await guardianOf(number);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(pid, signal);
    expect(await isAlive(pid)).toBe(true);
    await guardian[Symbol.asyncDispose]();
    expect(await isAlive(pid)).toBe(false);
  });

  it('is replaced when it dies', async () => {
    const number = claimServerNumber();
    const guardian = await startGuardian(number);
    const first = await guardianOf(number);
    process.kill(first, 'SIGKILL');
    const second = await guardianOf(number, first);
    expect(second).not.toBe(first);
    await guardian[Symbol.asyncDispose]();
    expect(await isAlive(second)).toBe(false);
  });

  it('that cannot be started is tried again until it runs', async () => {
    const number = claimServerNumber();
    const script = `
      const os = await import(${JSON.stringify(os)});
      const { openSync, closeSync } = await import('node:fs');
      os.nativeStatus();
      const taken = [];
      try {
        for (;;) taken.push(openSync('/dev/null'));
      } catch {}
      await os.startGuardian(${number}, (error) => process._rawDebug('failed', error.message));
      for (const descriptor of taken) closeSync(descriptor);
      setInterval(() => {}, 1000);`;
    const limited = ['prlimit', '--nofile=100:100', process.execPath, '--input-type=module', '-e', script];
    const node = start(limited, { mark: 0n });
    await outputMatching(node, /failed/);
    const guardian = await guardianOf(number);
    process.kill(node.pid, 'SIGKILL');
    await gone(guardian);
  });

  it('keeps the number of its server from others', async () => {
    const number = claimServerNumber();
    const guardian = await startGuardian(number);
    const script = `const os = await import(${JSON.stringify(os)}); console.log(os.serverNumbersInUse().has(${number}));`;
    expect((await run([process.execPath, '--input-type=module', '-e', script])).stdout).toBe('true\n');
    await guardian[Symbol.asyncDispose]();
    expect((await run([process.execPath, '--input-type=module', '-e', script])).stdout).toBe('false\n');
  });

  it('does not keep a process alive', async () => {
    const script = `const os = await import(${JSON.stringify(os)}); await os.startGuardian(os.claimServerNumber());`;
    expect((await run([process.execPath, '--input-type=module', '-e', script])).status).toEqual({ code: 0 });
  });

  it('can be waited for as the last thing a process does', async () => {
    const script = `
      const os = await import(${JSON.stringify(os)});
      const guardian = await os.startGuardian(os.claimServerNumber());
      await guardian[Symbol.asyncDispose]();
      console.log('done');`;
    expect(await run([process.execPath, '--input-type=module', '-e', script])).toMatchObject({
      stdout: 'done\n',
      status: { code: 0 },
    });
  });
});

/** The guardian of a family, once there is one other than `not`. */
async function guardianOf(number: number, not = 0): Promise<number> {
  for (;;) {
    const { stdout } = await run([
      'sh',
      '-c',
      'grep -l -z -x "$0" /proc/[0-9]*/cmdline 2>/dev/null || true',
      familyMark(number, 0, 0).toString(16),
    ]);
    const pids = [...stdout.matchAll(/\/proc\/(\d+)\//g)].map((match) => Number(match[1])).filter((pid) => pid !== not);
    for (const pid of pids) {
      const { stdout: name } = await run(['sh', '-c', 'cat /proc/$0/comm 2>/dev/null || true', String(pid)]);
      if (name === 'exec-guardian\n') return pid;
    }
  }
}
