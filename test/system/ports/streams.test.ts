import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { concatBytes, decodeUtf8, deferred } from '../../../src/base/index.ts';
import type { PortStream, RemoteProcess } from '../../../src/client/index.ts';
import { connect } from '../../support/client-specification.ts';
import { sha256 } from '../../support/digest.ts';
import { startServer } from '../../support/server.ts';
import { PortServer, textOf } from './port-servers.ts';
import { reaches } from './reaches.ts';

async function all(stream: PortStream): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return decodeUtf8(concatBytes(parts));
}

async function firstText({ output }: RemoteProcess): Promise<string> {
  for await (const { bytes } of output) return decodeUtf8(bytes);
  throw new Error('the process printed nothing');
}

describe.each(reaches)('a connection to a port of a server that is reached $way', ({ reach }) => {
  it('carries bytes both ways, and ends for each side apart', async () => {
    const { client } = await reach();
    const heard = deferred<string>();
    await using port = await PortServer.listen(async (socket) => {
      socket.end('hello'); // this side is over before the other has begun
      heard.resolve(await textOf(socket));
    });
    await using stream = await client.openPort({ port: port.port });

    expect(await all(stream)).toBe('hello');
    await stream.write('still ');
    await stream.write('here');
    await stream.end();

    expect(await heard.promise).toBe('still here');
    expect(await stream.closed).toBeUndefined();
    await expect(stream.write('late')).rejects.toThrow(
      `the connection to localhost port ${port.port} is closed: nothing more can be sent`,
    );
  });

  it('lets the other side answer after the end of what was sent', async () => {
    const { client } = await reach();
    await using port = await PortServer.listen(async (socket) => socket.end((await textOf(socket)).toUpperCase()));
    await using stream = await client.openPort({ host: '127.0.0.1', port: port.port });

    await stream.write('question');
    await stream.end();

    expect(await all(stream)).toBe('QUESTION');
    expect(await stream.closed).toBeUndefined();
  });

  it('carries 16 MB each way at once, cut twice', async () => {
    const { client, cut } = await reach();
    const sent = Buffer.from(Array.from({ length: 2_200_000 }, (_, n) => `${n}\n`).join(''));
    await using port = await PortServer.listen((socket) => void socket.pipe(socket));
    await using stream = await client.openPort({ port: port.port });

    const hash = createHash('sha256');
    const writing = stream.write(sent).then(() => stream.end());
    const cuts = [5_000_000, 10_000_000];
    let received = 0;
    for await (const part of stream) {
      hash.update(part);
      received += part.length;
      if (received < (cuts[0] ?? Number.POSITIVE_INFINITY)) continue;
      cuts.shift();
      cut();
    }
    await writing;

    expect([received, cuts]).toEqual([sent.length, []]);
    expect(hash.digest('hex')).toBe(sha256(sent));
  });

  it('carries a WebSocket, from the upgrade to the close', async () => {
    const { client } = await reach();
    const http = createServer();
    new WebSocketServer({ server: http }).on('connection', (socket) =>
      socket.on('message', (data) => socket.send(data)),
    );
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    const { port } = http.address() as AddressInfo;
    const stream = await client.openPort({ port });

    const carrier = Duplex.fromWeb({ readable: stream.readable, writable: stream.writable } as never);
    const socket = new WebSocket(`ws://localhost:${port}/`, { createConnection: () => carrier });
    await once(socket, 'open');
    const message = Buffer.alloc(5_000_000, 'abc');
    socket.send(message);
    const [echoed] = (await once(socket, 'message')) as [Buffer];
    socket.close(1000, 'done');
    const [code] = (await once(socket, 'close')) as [number];
    http.close();

    expect([sha256(echoed), code]).toEqual([sha256(message), 1000]);
    expect(await stream.closed).toBeUndefined();
  });

  it('that is not read makes its own other end wait, and no other stream and no process', async () => {
    const { client } = await reach();
    const flooded = deferred<void>();
    await using flood = await PortServer.listen((socket) => {
      const send = (): void => {
        while (socket.write(Buffer.alloc(65_536))); // until the kernel takes no more
        socket.once('drain', send);
      };
      send();
      flooded.resolve();
    });
    await using echo = await PortServer.listen((socket) => void socket.pipe(socket));
    await using unread = await client.openPort({ port: flood.port });
    await flooded.promise;

    await using other = await client.openPort({ port: echo.port });
    const sent = Buffer.alloc(8 * 1024 * 1024, 'x');
    const reading = all(other);
    await other.write(sent);
    await other.end();
    expect((await reading).length).toBe(sent.length);
    const process = await client.start({ argv: ['seq', '1', '200000'], env: { PATH: '/usr/bin:/bin' } });
    expect((await process.communicate()).exitCode).toBe(0);

    const { streams } = await client.request('net/list', {});
    expect(streams).toMatchObject([
      { streamId: unread.streamId, port: flood.port, phase: 'open' },
      { phase: 'closed' },
    ]);
  });

  it('fails when the other end resets it, with the reason', async () => {
    const { client } = await reach();
    await using port = await PortServer.listen((socket) => socket.once('data', () => socket.resetAndDestroy()));
    await using stream = await client.openPort({ port: port.port });

    await stream.write('x');
    const reason = `the connection to localhost port ${port.port} is closed: the other end reset the connection (ECONNRESET)`;
    await expect(all(stream)).rejects.toThrow(reason);
    expect((await stream.closed)?.message).toBe(reason);
  });

  it('is closed when the other end has ended and then resets it, also if nothing is written', async () => {
    const { client } = await reach();
    const accepted = deferred<Socket>();
    await using port = await PortServer.listen((socket) => accepted.resolve(socket.end('bye')));
    await using stream = await client.openPort({ port: port.port });

    expect(await all(stream)).toBe('bye');
    (await accepted.promise).resetAndDestroy();

    expect((await stream.closed)?.message).toBe(
      `the connection to localhost port ${port.port} is closed: the other end stopped reading (EPIPE)`,
    );
  });

  it('is closed by the client, which closes no other', async () => {
    const { client } = await reach();
    const ended: Promise<unknown>[] = [];
    await using port = await PortServer.listen((socket) => ended.push(once(socket.resume(), 'end')));
    const one = await client.openPort({ port: port.port });
    await using two = await client.openPort({ port: port.port });
    await one.close();
    await ended[0];

    expect(await one.closed).toBeUndefined();
    expect(await two.write('x')).toBeUndefined();
  });

  it('lists what listens, with the process of the client that does', async () => {
    const { client } = await reach();
    await using port = await PortServer.listen(() => {});
    const script = `require('net').createServer().listen(0, '127.0.0.1', function () { console.log(this.address().port) })`;
    await using listener = await client.start({ argv: [process.execPath, '-e', script] });
    const own = Number(await firstText(listener));

    const ports = await client.ports();

    expect(ports).toContainEqual({ host: '127.0.0.1', port: port.port });
    expect(ports.find((each) => each.port === own)).toMatchObject({
      host: '127.0.0.1',
      processId: listener.processId,
      pid: listener.pid,
      program: expect.stringContaining('node'),
    });
  });
});

it('is closed with its session', async () => {
  await using server = await startServer({ args: ['--detached-session-ttl-ms', '0'] });
  const ended = deferred<void>();
  await using port = await PortServer.listen((socket) => socket.on('end', () => ended.resolve()).resume());
  const client = await connect(server.url);
  const stream = await client.openPort({ port: port.port });
  await client.close();
  await ended.promise;
  expect((await stream.closed)?.message).toBe('the client was closed');
});
