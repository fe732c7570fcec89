import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { describe, expect, it } from 'vitest';
import { freshMark, gone, isAlive } from '../native/fixture.ts';
import { bash, byName, Call, call, directory, shellEnvironment, workspace } from './native-fixture.ts';

const quiet = 'exec sleep 600 >/dev/null 2>&1';

describe('the output of a call', () => {
  it('arrives in the order it was written in, whichever stream it was written to', async () => {
    const code = 'import os\nfor i in range(2000): os.write(1, b"o%d\\n" % i); os.write(2, b"e%d\\n" % i)';
    const { output } = await call(`python3 -c '${code}'`);

    expect(output.join('')).toBe(Array.from({ length: 2000 }, (_, i) => `o${i}\ne${i}\n`).join(''));
  });

  it('arrives whole, however much there is', async () => {
    const { stdout, stderr, status } = await call('seq 1 500000; seq 1 100000 >&2');

    const numbers = (count: number) => Array.from({ length: count }, (_, i) => `${i + 1}\n`).join('');
    expect(stdout === numbers(500_000) && stderr === numbers(100_000)).toBe(true);
    expect(status).toEqual({ code: 0 });
  });

  it('can be written to by name, and by who makes the pipe larger', async () => {
    const grow = 'import fcntl, os; fcntl.fcntl(1, 1031, 1 << 20); [os.write(1, b"x" * 4096) for _ in range(64)]';
    const { stdout } = await call(`echo name > /dev/stdout; python3 -c '${grow}'`);

    expect(stdout).toBe(`name\n${'x'.repeat(4096 * 64)}`);
  });

  it('may go on after the shell has ended', async () => {
    await using running = new Call(
      `(trap 'echo late; exit' TERM; echo $BASHPID; while :; do sleep 0.01; done) & exit 3`,
    );
    const [, pid] = await running.printed(/(\d+)\n/);
    expect(await running.event('exited')).toEqual({ type: 'exited', status: { code: 3 } });
    process.kill(Number(pid), 'SIGTERM');

    await running.finished();
    expect(running.text.stdout).toBe(`${pid}\nlate\n`);
  });
});

describe('a shell', () => {
  it('that cannot be started is reported', async () => {
    await using running = new Call('', { shell: '/nowhere/bash' });

    expect(await running.event('failed')).toEqual({ type: 'failed', step: 'exec', errno: 2 });
  });

  it('whose directory is missing is reported', async () => {
    await using running = new Call('', { cwd: '/nowhere' });

    expect(await running.event('failed')).toEqual({ type: 'failed', step: 'chdir', errno: 2 });
  });

  it('reads nothing, leads a session, and inherits the socket alone', async () => {
    const open = 'for fd in {3..20} 200; do [ -e /proc/$$/fd/$fd ] && echo -n "$fd "; done';
    const { stdout } = await call(`read x; echo $?; cut -d" " -f5,6 /proc/$$/stat; echo $$; ${open}`);
    const [read, ids, pid, descriptors] = stdout.split('\n');

    expect([read, ids, descriptors]).toEqual(['1', `${pid} ${pid}`, '200 ']);
  });

  it('dies of a signal', async () => {
    expect(await call('kill -USR1 $$')).toMatchObject({ status: { signal: 10 } });
  });
});

describe('the end of a call', () => {
  it('starts with a signal to every process, inside a sandbox too', async () => {
    await using place = await directory();
    const script = `trap 'echo bye; exit 4' TERM; echo on; while :; do sleep 0.01; done`;
    await using running = new Call(script, { policy: workspace(place.path), cwd: place.path });
    await running.printed(/on\n/);
    await running.broker.signal('SIGTERM');

    expect(await running.finished()).toEqual({ code: 4 });
    expect(running.text.stdout).toBe('on\nbye\n');
  });

  it('leaves no process, whatever it has done to get away', async () => {
    const script = `
      trap '' TERM HUP INT
      setsid ${bash} -c 'echo $$; ${quiet}' & (setsid sh -c 'sleep 600 >/dev/null 2>&1 & echo $!' &)
      nohup sh -c 'echo $$; ${quiet}' & sh -c 'echo $$; ${quiet}' & wait`;
    await using running = new Call(script, { decide: byName({ sh: 'escalate' }) });
    await running.until(() => running.text.stdout.split('\n').length === 5);
    const pids = running.text.stdout.trim().split('\n').map(Number);
    await running.broker.kill();

    expect((await running.event('swept')).count).toBeGreaterThanOrEqual(5);
    expect(await Promise.all(pids.map(isAlive))).toEqual([false, false, false, false]);
    expect(await running.finished()).toEqual({ signal: 9 });
  });

  it('may leave alone what has detached itself', async () => {
    const say = (what: string) => `sh -c 'echo ${what} $$; ${quiet}'`;
    await using running = new Call(`setsid ${say('detached')} & nohup ${say('deaf')} & ${say('attached')} & wait`);
    const pidOf = async (what: string) => Number((await running.printed(new RegExp(`${what} (\\d+)\n`)))[1]);
    const staying = [await pidOf('detached'), await pidOf('deaf')];
    const going = await pidOf('attached');
    await running.broker.leave();

    expect(await isAlive(going)).toBe(false);
    expect(await Promise.all(staying.map(isAlive))).toEqual([true, true]);
    for (const pid of staying) process.kill(pid, 'SIGKILL');
  });

  it('comes when the broker is killed', async () => {
    const script = `setsid sh -c 'echo $$; ${quiet}' & sh -c 'echo $$; ${quiet}' & echo $$; wait`;
    await using running = new Call(script, { decide: ({ argv }) => (argv[0] === 'sh' ? 'escalate' : 'run') });
    await running.until(() => running.text.stdout.split('\n').length === 4);
    const pids = running.text.stdout.trim().split('\n').map(Number);
    process.kill(running.broker.pid, 'SIGKILL');
    await running.done;
    await running.broker[Symbol.asyncDispose]();

    expect(await Promise.all(pids.map(isAlive))).toEqual([false, false, false]);
  });

  it('comes when the process that holds the broker is killed', async () => {
    const library = await bundled();
    const script = `setsid sh -c 'echo $$; ${quiet}' & sh -c 'echo $$; ${quiet}' & echo $$; wait`;
    const holder = `
      const { Broker } = await import(${JSON.stringify(library)});
      const broker = Broker.start({ mark: ${freshMark()}n });
      const env = ${JSON.stringify(shellEnvironment())};
      void broker.shell({ socket: 200, intercept: 'bash', shell: '${bash}', file: '${bash}', argv: ['bash', '-c', ${JSON.stringify(script)}], cwd: '/', env, inherited: 0 });
      for await (const event of broker.events()) {
        if (event.type === 'output') process.stdout.write(event.bytes);
        if (event.type === 'asked' && event.request.argv[0] === 'sh') void broker.escalate(event.request.id, event.request.exact);
        else if (event.type === 'asked') void broker.run(event.request.id);
      }`;
    const node = spawn(process.execPath, ['--input-type=module', '-e', holder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    while (text.split('\n').length < 4) text += String((await once(node.stdout, 'data'))[0]);
    node.kill('SIGKILL');

    await Promise.all(
      text
        .trim()
        .split('\n')
        .map((pid) => gone(Number(pid))),
    );
    await rm(library);
  });
});

async function bundled(): Promise<string> {
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  const file = join(root, 'build', 'test', `escalation-${process.pid}.mjs`);
  const input = join(root, 'src', 'agent', 'escalation', 'broker.ts');
  const bundle = await rolldown({ input, platform: 'node', transform: { target: 'node20' } });
  await bundle.write({ file, format: 'esm' });
  await bundle.close();
  return file;
}
