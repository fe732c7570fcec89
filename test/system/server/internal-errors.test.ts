import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { serverProgram, startServer } from '../../support/server.ts';

const failure = fileURLToPath(new URL('../../support/forced-failure.cjs', import.meta.url));
const env = { NODE_OPTIONS: `--require ${failure}` };

const initialize = JSON.stringify({ id: 1, method: 'initialize', params: { clientName: 'test' } });
const answer = '{"id":1,"error":{"code":-32603,"message":"no identifier"}}';

function expectLogged(line: Record<string, unknown>): void {
  expect(line).toMatchObject({ level: 'error', method: 'initialize', error: 'no identifier' });
  expect(line.stack).toMatch(/^Error: no identifier\n +at .*forced-failure\.cjs/);
  expect(line.cause).toMatch(/^Error: the deeper reason\n +at .*forced-failure\.cjs/);
}

it('the log has the stack and the cause of an internal error, and the client neither', async () => {
  await using server = await startServer({ env });
  const socket = new WebSocket(server.url);
  await once(socket, 'open');
  socket.send(initialize);
  const [received] = await once(socket, 'message');
  expect(String(received)).toBe(answer);
  expectLogged(await server.lineOf('request.failed'));
  socket.terminate();
});

it('so it is on stdio', async () => {
  const server = spawn(process.execPath, [serverProgram, '--listen', 'stdio'], { env: { ...process.env, ...env } });
  const stderr = text(server.stderr);
  server.stdin.write(`${initialize}\n`);
  const [received] = await once(createInterface({ input: server.stdout }), 'line');
  expect(received).toBe(answer);
  server.stdin.end();
  const lines = (await stderr)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expectLogged(lines.find(({ event }) => event === 'request.failed') ?? {});
});
