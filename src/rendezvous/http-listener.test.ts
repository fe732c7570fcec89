import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { deferred, silentLogger } from '../base/index.ts';
import { HttpListener, type HttpListenerOptions } from './http-listener.ts';
import { Refusal } from './refusal.ts';

const listen = (upgrade: HttpListenerOptions['upgrade']): Promise<HttpListener> =>
  HttpListener.listen({
    host: '127.0.0.1',
    port: 0,
    basePath: '',
    log: silentLogger,
    answer: async () => ({ status: 404 }),
    upgrade,
  });

/** A client that asks for a websocket and never hangs up by itself. */
function clingingClient({ url }: HttpListener): Socket {
  const client = connect({ host: '127.0.0.1', port: Number(new URL(url).port), allowHalfOpen: true });
  client.write('GET /ws HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
  return client;
}

describe('the port of the rendezvous', () => {
  it('lets go of a connection that it refused to upgrade, although the client holds on to it', async () => {
    const kept = deferred<Socket>();
    await using listener = await listen(async (_request, socket) => {
      kept.resolve(socket);
      throw new Refusal(401, 'no', 'no');
    });
    const client = clingingClient(listener);
    const answer = once(client, 'data');

    await once(await kept.promise, 'close');

    expect(String(await answer)).toContain('401 Unauthorized');
    client.destroy();
  });

  it('lets no client keep the connection of an answer, which would die with the node', async () => {
    await using listener = await listen(() => new Promise(() => {}));
    const client = connect(Number(new URL(listener.url).port), '127.0.0.1');
    client.write('GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: keep-alive\r\n\r\n');

    const answer = await text(client);

    expect(answer).toMatch(/^HTTP\/1.1 404 .*\r\nconnection: close\r\n/s);
  });

  it('stops although somebody is still being upgraded', async () => {
    const asked = deferred();
    const listener = await listen(() => {
      asked.resolve();
      return new Promise(() => {});
    });
    const client = clingingClient(listener);
    const closed = once(client, 'close');
    client.on('end', () => client.end());
    client.resume();
    await asked.promise;

    await listener[Symbol.asyncDispose]();

    await closed;
  });
});
