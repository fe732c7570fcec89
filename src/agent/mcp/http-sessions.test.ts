import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { silentLogger } from '../../base/index.ts';
import { HttpSessions } from './http-sessions.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] }));
afterEach(() => void vi.useRealTimers());

const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

const initialize = () =>
  new Request('http://127.0.0.1/mcp', {
    method: 'POST',
    headers,
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    }),
  });

it('forgets a client that has gone silent, also one that has hung up while it listened', async () => {
  let ended = 0;
  const openToolSet = async () => ({
    instructions: '',
    tools: [],
    async [Symbol.asyncDispose]() {
      ended++;
    },
  });
  await using sessions = new HttpSessions(openToolSet, silentLogger);
  const begun = await sessions.handle(initialize());
  await begun.text();
  const id = begun.headers.get('mcp-session-id')!;
  const listen = () => new Request('http://127.0.0.1/mcp', { headers: { ...headers, 'mcp-session-id': id } });
  const listening = await sessions.handle(listen());
  await listening.body!.cancel();
  expect([listening.status, ended]).toEqual([200, 0]);

  await vi.advanceTimersByTimeAsync(32 * 60_000);

  expect([(await sessions.handle(listen())).status, ended]).toEqual([404, 1]);
});
