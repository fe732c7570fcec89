import { spawn } from 'node:child_process';
import { expect, it } from 'vitest';
import { announced, serverProgram } from '../../support/server.ts';
import { connect } from '../../support/wire-client.ts';

/** The soft limit of open files that a command of a server gets, which a shell with a limit starts. */
async function filesOfCommands(ulimit: string, ...flags: string[]): Promise<string> {
  // The shell stays: it is the parent whose limit counts.
  const script = `ulimit -S -n ${ulimit}; "$@" & trap 'kill $!' TERM; wait`;
  const args = [process.execPath, serverProgram, '--listen', 'ws://127.0.0.1:0', ...flags];
  const shell = spawn('sh', ['-c', script, 'sh', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: '/usr/bin:/bin' },
  });
  const server = await announced(shell);
  await using client = await connect(server.url);
  const command = await client.start({ argv: ['/bin/sh', '-c', 'ulimit -S -n'], env: { PATH: '/usr/bin:/bin' } });
  await command.closed();
  await server.stop();
  return command.output('stdout').trim();
}

it('commands have the soft limit of open files of the process that started the server', async () => {
  expect(await filesOfCommands('321')).toBe('321');
});

it('commands have the soft limit of open files that a flag gives', async () => {
  expect(await filesOfCommands('321', '--child-nofile', '77')).toBe('77');
});
