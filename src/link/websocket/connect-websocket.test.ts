import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import { Scope } from '../../base/index.ts';
import { webSocket } from './connect-websocket.ts';

const never = new AbortController().signal;

async function listen(scope: Scope) {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  scope.defer(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  await once(server, 'listening');
  return { server, url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

describe('a WebSocket connector', () => {
  it('presents its token and headers, and neither an origin nor compression', async () => {
    await using scope = new Scope();
    const { server, url } = await listen(scope);
    const connected = once(server, 'connection') as Promise<[unknown, IncomingMessage]>;

    const link = await webSocket(url, { token: 'secret', headers: { 'x-route': 'a' } })(never);
    const [, request] = await connected;
    link.destroy();

    const { authorization, origin, 'x-route': route, 'sec-websocket-extensions': extensions } = request.headers;
    expect({ authorization, origin, route, extensions }).toEqual({
      authorization: 'Bearer secret',
      origin: undefined,
      route: 'a',
      extensions: undefined,
    });
  });

  it('sends a message of 20 MiB in pieces that make up the whole', async () => {
    await using scope = new Scope();
    const { server, url } = await listen(scope);
    const connected = once(server, 'connection');
    const link = await webSocket(url)(never);
    const [peer] = await connected;
    const message = 'ä'.repeat(10 * 1024 * 1024);
    const received = once(peer, 'message');

    void link.send(message);
    const [data, isBinary] = await received;
    link.destroy();

    expect(data.toString() === message).toBe(true);
    expect(isBinary).toBe(false);
  });

  it('reports a server that is not there, one that stays silent, and a caller that gave up', async () => {
    await using scope = new Scope();
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    scope.defer(() => void silent.close());
    await once(silent, 'listening');
    const url = `ws://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const abort = new AbortController();
    const reason = new Error('no longer needed');

    const unanswered = webSocket(url)(abort.signal);
    abort.abort(reason);

    await expect(unanswered).rejects.toBe(reason);
    await expect(webSocket('ws://127.0.0.1:1')(never)).rejects.toThrow(
      'cannot connect to ws://127.0.0.1:1: no server listens there (ECONNREFUSED)',
    );
    await expect(webSocket(url, { connectTimeoutMs: 10 })(never)).rejects.toThrow('timed out');
  });

  it('says how a server that hangs up may be reached', async () => {
    await using scope = new Scope();
    const closing = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    scope.defer(() => void closing.close());
    await once(closing, 'listening');

    await expect(webSocket(`ws://127.0.0.1:${(closing.address() as AddressInfo).port}`)(never)).rejects.toThrow(
      'the other end hung up (ECONNRESET); a server with TLS is reached as wss://',
    );
  });

  it('names an address that is not the URL of a server', async () => {
    await expect(webSocket('localhost:39811')(never)).rejects.toThrow(
      "cannot connect to 'localhost:39811': expected ws://HOST:PORT, wss://HOST:PORT or unix:/PATH",
    );
  });

  it.each([
    [200, 'text/html', ': no exec-server answers at this address; use the one that it has printed'],
    [404, 'text/plain', ': no exec-server answers at this address; use the one that it has printed'],
    [502, 'text/html; charset=utf-8', ': no exec-server answers at this address; use the one that it has printed'],
    [503, 'text/plain', ': too many'],
  ])('explains an answer with status %d and type %s', async (status, type, meaning) => {
    await using scope = new Scope();
    const server = createHttpServer((_, response) =>
      response.writeHead(status, { 'content-type': type }).end('too many'),
    );
    scope.defer(() => void server.close());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;

    await expect(webSocket(url)(never)).rejects.toMatchObject({
      message: `cannot connect to ${url}: the server refused the connection (HTTP ${status})${meaning}`,
      status,
    });
  });
});
