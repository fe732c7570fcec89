import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { deferred, Scope, silentLogger } from '../base/index.ts';
import { Host } from '../host/index.ts';
import type { ExecServerConfig } from './config.ts';
import { type ChangeableOptions, serve } from './serve.ts';

/** A server in this process; gives its URL and a function that changes its settings. */
async function startServing(scope: Scope, config: Partial<ExecServerConfig>) {
  const stop = new AbortController();
  const [url, change] = [deferred<string>(), deferred<(next: ChangeableOptions) => void>()];
  const serving = serve(
    {
      ...{ address: { type: 'websocket', secure: false, host: '127.0.0.1', port: 0 }, auth: { type: 'none' }, config },
      ...{ host: new Host({ environment: {} }), log: silentLogger, announce: url.resolve, changes: change.resolve },
    },
    stop.signal,
  );
  scope.defer(async () => {
    stop.abort();
    await serving;
  });
  return { url: await url.promise, change: await change.promise };
}

/** The server's side of a new connection, once a request on it was answered. */
async function connectTo(scope: Scope, url: string): Promise<Socket> {
  const accepted = deferred<Socket>();
  const onSocket = (message: unknown): void => accepted.resolve((message as { socket: Socket }).socket);
  subscribe('net.server.socket', onSocket);
  const client = new WebSocket(url);
  scope.defer(() => client.terminate());
  await once(client, 'open');
  unsubscribe('net.server.socket', onSocket);
  client.send('{"id":1,"method":"initialize","params":{"clientName":"test"}}');
  const [answer] = (await once(client, 'message')) as [Buffer];
  expect(JSON.parse(`${answer}`)).toMatchObject({ id: 1, result: {} });
  return accepted.promise;
}

/** The fast path takes the bytes of a socket where Node hands them in. */
const hasFastPath = (socket: Socket): boolean => Object.hasOwn(socket, 'push');

describe('a server', () => {
  it.each([
    [{}, true],
    [{ noFastPath: true }, false],
  ])('with the settings %j has the fast path: %s', async (config, expected) => {
    await using scope = new Scope();
    const { url } = await startServing(scope, config);

    expect(hasFastPath(await connectTo(scope, url))).toBe(expected);
  });

  it('takes a changed setting for connections that are opened from then on', async () => {
    await using scope = new Scope();
    const { url, change } = await startServing(scope, {});
    const before = await connectTo(scope, url);

    change({ auth: { type: 'none' }, config: { noFastPath: true } });
    const after = await connectTo(scope, url);

    expect([before, after].map(hasFastPath)).toEqual([true, false]);
  });
});
