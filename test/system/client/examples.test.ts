import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { startServer } from '../../support/server.ts';

const run = promisify(execFile);
const example = (name: string): string => fileURLToPath(new URL(`../../../examples/${name}`, import.meta.url));

it('the example that watches a build sees every step and ends it', async () => {
  await using server = await startServer();

  const { stdout } = await run(process.execPath, [example('build-and-watch.mjs'), server.url]);

  expect(stdout).toBe('step 1\nstep 2\nstep 3\nended with 143\n');
});

it('the example of an agent runs commands in a sandbox, asks its user, and types into a terminal', async () => {
  await using server = await startServer();

  const { stdout } = await run(process.execPath, [example('agent-loop.mjs'), server.url]);

  expect(stdout.split('\n')).toEqual([
    'model: I have exec_command and write_stdin.',
    'exec_command: Process exited with code 1',
    'user:  "May I make a temporary folder?" Yes.',
    'exec_command: Process exited with code 0',
    'exec_command: Process running with session ID …',
    'write_stdin: Process exited with code 0',
    'model: It said: Hello, a model!',
    '',
  ]);
});

it.each(['agent-loop.mjs', 'build-and-watch.mjs'])('%s says that no server is there', async (name) => {
  await expect(run(process.execPath, [example(name), 'ws://127.0.0.1:1'])).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining(
      'Error: cannot connect to ws://127.0.0.1:1: no server listens there (ECONNREFUSED)',
    ),
  });
});

it.each(['agent-loop.mjs', 'build-and-watch.mjs'])('%s says how to use it when no address is given', async (name) => {
  await expect(run(process.execPath, [example(name)])).rejects.toMatchObject({
    code: 2,
    stderr: `usage: node examples/${name} ws://HOST:PORT\n`,
  });
});
