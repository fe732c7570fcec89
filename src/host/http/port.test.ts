import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { HttpPort, refuseUpgrade } from './port.ts';

async function listen(server: Server, host = '127.0.0.1'): Promise<HttpPort> {
  const port = new HttpPort(server, 10);
  await port.listen({ host, port: 0 });
  return port;
}

/** A client that asks for a WebSocket and never closes the connection itself. */
function stayingClient({ authority }: HttpPort): Socket {
  const client = connect({ host: '127.0.0.1', port: Number(authority.split(':')[1]), allowHalfOpen: true });
  client.write('GET /ws HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
  return client;
}

describe('an HTTP port', () => {
  it('has its host and port as in a URL', async () => {
    await using four = await listen(createServer());
    await using six = await listen(createServer(), '::1');

    expect(four.authority).toMatch(/^127\.0\.0\.1:[1-9]\d*$/);
    expect(six.authority).toMatch(/^\[::1\]:[1-9]\d*$/);
  });

  it('cannot be used by two servers', async () => {
    await using first = await listen(createServer());
    await using second = new HttpPort(createServer(), 10);

    const taken = second.listen({ host: '127.0.0.1', port: Number(first.authority.split(':')[1]) });

    await expect(taken).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('closes a connection whose upgrade is refused, although the client keeps it open', async () => {
    const server = createServer();
    await using port = await listen(server);
    const client = stayingClient(port);
    const answer = once(client, 'data');

    const [, socket] = (await once(server, 'upgrade')) as [unknown, Socket];
    refuseUpgrade(socket, { status: 401, type: 'text/plain', body: 'né' });
    await once(socket, 'close');

    expect(String(await answer)).toBe(
      'HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-type: text/plain\r\ncontent-length: 3\r\n\r\nné',
    );
    client.destroy();
  });

  it('closes although a connection is still being upgraded', async () => {
    const server = createServer();
    const port = await listen(server);
    const client = stayingClient(port);
    const closed = once(client, 'close');
    client.on('end', () => client.end());
    client.resume();
    await once(server, 'upgrade');

    await port[Symbol.asyncDispose]();

    await closed;
  });
});
