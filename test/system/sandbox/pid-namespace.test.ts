import { spawn } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { appeared, gone, isAlive, uniqueSeconds } from '../../support/proc.ts';
import { referenceBinary } from '../../support/reference.ts';
import { announced, serverProgram } from '../../support/server.ts';
import { connect } from '../../support/wire-client.ts';
import { accounts, outcomeOf, SandboxFixture, special } from './fixture.ts';

const start = (mode: string) =>
  announced(
    spawn(process.execPath, [serverProgram, '--listen', 'ws://127.0.0.1:0', '--linux-sandbox-pid-namespace', mode], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: '/usr/bin:/bin' },
    }),
  );

async function printed(mode: string, script: (server: number) => string): Promise<string> {
  const server = await start(mode);
  await using client = await connect(server.url);
  const process = await client.start({
    argv: ['/bin/bash', '-c', script(server.pid)],
    cwd: 'file:///',
    env: { PATH: '/usr/bin:/bin' },
    sandbox: {
      permissions: {
        type: 'managed',
        file_system: { type: 'restricted', entries: [special('root', 'read')] },
        network: 'restricted',
      },
      windowsSandboxLevel: 'disabled',
      cwd: 'file:///',
    },
  });
  const { stdout } = await outcomeOf(process);
  await server.stop();
  return stdout.trim();
}

const canSignal = (server: number) => `kill -0 ${server} 2>/dev/null && echo yes || echo no`;

it('a sandbox has a pid namespace of its own, or that of the server', async () => {
  expect(await printed('isolate', canSignal)).toBe('no');
  expect(await printed('inherit', canSignal)).toBe('yes');
  expect(await printed('inherit', () => 'test -d /proc/$$ && echo there')).toBe('there');
});

it('the server cannot be looked into from its own pid namespace, nor the kernel be set', async () => {
  expect(await printed('inherit', (server) => `cat /proc/${server}/environ >/dev/null 2>&1 || echo refused`)).toBe(
    'refused',
  );
  const launcher = 'readlink /proc/$PPID/exe || echo refused; exec 3<>/proc/$PPID/mem || echo refused';
  expect(await printed('inherit', () => `(${launcher}) 2>/dev/null`)).toBe('refused\nrefused');
  expect(await printed('inherit', () => '(exec 3>>/proc/sys/kernel/printk) 2>/dev/null || echo refused')).toBe(
    'refused',
  );
});

it('another mode is refused in the words of the reference', async () => {
  const words = async (program: string, ...args: string[]) => {
    const child = spawn(program, [...args, '--linux-sandbox-pid-namespace', 'other'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let text = '';
    for await (const part of child.stderr) text += part;
    return text.split('\n')[0];
  };
  const ours = await words(process.execPath, serverProgram);
  const theirs = await words(await referenceBinary(), 'exec-server');
  expect(ours).toContain(theirs!.replace('error: ', ''));
});

it('the help text says what inherit gives up', async () => {
  const { stdout } = await runCommand(['--help']);
  const text = stdout.replace(/\s+/g, ' ');
  const [, told] = /--linux-sandbox-pid-namespace (.*?) --/.exec(text) ?? [];
  expect(told).toMatch(
    /see all processes .* may signal .* this server included, .* leave daemons behind that outlive .* this server: those that lower the limit/,
  );
});

describe.each(accounts)('with inherit, for $name', (account) => {
  const inherit = { args: ['--linux-sandbox-pid-namespace', 'inherit'] };
  const detached = '</dev/null >/dev/null 2>&1';

  it('a terminated command takes along what it forked, whatever session or parent that has', async () => {
    await using fixture = await SandboxFixture.open(account, {}, inherit);
    const seconds = uniqueSeconds();
    const daemons = [
      `(sleep ${seconds} ${detached} &)`,
      `(setsid sleep ${seconds} ${detached} &)`,
      `(setsid sh -c "(setsid sleep ${seconds} &)" ${detached} &)`,
      `(trap "" HUP TERM; sleep ${seconds} ${detached} &)`,
    ];
    const command = await fixture.start(`${daemons.join('; ')}; exec sleep ${seconds}`);
    const sleeping = await appeared(seconds, daemons.length + 1);

    await fixture.client.call('process/terminate', { processId: command.id });
    await command.closed();

    await gone(sleeping);
  });

  it('a process that lowers its mark outlives terminate and the server, as the documents say', async () => {
    await using fixture = await SandboxFixture.open(account, {}, inherit);
    const [kept, marked] = [uniqueSeconds(), uniqueSeconds()];
    const daemon = `(prlimit --rttime=1000000000 setsid sleep ${kept} ${detached} &)`;
    const command = await fixture.start(`${daemon}; exec sleep ${marked}`);
    const [[survivor], [other]] = [await appeared(kept), await appeared(marked)];
    try {
      await fixture.client.call('process/terminate', { processId: command.id });
      await command.closed();
      await gone(other!);
      expect(await fixture.server.stop()).toBe(0);

      expect(isAlive(survivor!)).toBe(true);
    } finally {
      if (isAlive(survivor!)) process.kill(survivor!, 'SIGKILL');
    }
    await gone(survivor!);
  });
});
