import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { deferred } from '../base/index.ts';
import { UpgradeRefused } from './open-websocket.ts';
import { openRendezvousSocket } from './rendezvous-socket.ts';

const never = new AbortController().signal;
let server: WebSocketServer;
let url: string;
beforeEach(async () => {
  server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/?sig=secret`;
});
afterEach(() => {
  vi.useRealTimers();
  for (const ws of server.clients) ws.terminate();
  server.close();
});

async function connect(onText: 'ignore' | 'disconnect' = 'ignore') {
  const accepted = once(server, 'connection');
  const socket = await openRendezvousSocket(url, { onText }, never);
  const [peer] = (await accepted) as [WebSocket];
  return { socket, peer };
}

describe('a socket to a rendezvous', () => {
  it('hands over frames that came along with the answer, once somebody takes them', async () => {
    server.on('connection', (ws) => {
      ws.send(Buffer.from('one'));
      ws.send(Buffer.from('two'));
    });
    const { socket } = await connect();
    await new Promise((resolve) => setImmediate(resolve));
    const seen: string[] = [];
    const both = deferred();
    socket.open((frame) => {
      seen.push(Buffer.from(frame).toString());
      if (seen.length === 2) both.resolve();
    });
    await both.promise;

    expect(seen).toEqual(['one', 'two']);
  });

  it('hands over one frame at a time to a receiver that is busy', async () => {
    const { socket, peer } = await connect();
    const seen: string[] = [];
    const room = deferred();
    const last = deferred();
    socket.open((frame) => {
      const text = Buffer.from(frame).toString();
      seen.push(text);
      if (text === 'three') last.resolve();
      return text === 'one' ? room.promise : undefined;
    });
    for (const text of ['one', 'two', 'three']) peer.send(Buffer.from(text));
    peer.ping(); // its pong would come only after what is read before it
    await expect.poll(() => seen).toEqual(['one']);

    room.resolve();
    await last.promise;

    expect(seen).toEqual(['one', 'two', 'three']);
  });

  it('does not take its peer for lost while the receiver is busy, and so reads no answers', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
    const { socket, peer } = await connect();
    const busy = deferred();
    socket.open(() => {
      busy.resolve();
      return new Promise(() => {});
    });
    peer.send(Buffer.from('one'));
    await busy.promise;
    vi.advanceTimersByTime(300_000);

    const received = once(peer, 'message');
    void socket.send(Buffer.from('still here'));

    await Promise.race([received, socket.closed.then(() => Promise.reject(new Error('given up')))]);
  });

  it('sends binary messages and knows from pongs which ones have arrived', async () => {
    const { socket, peer } = await connect();
    socket.open(() => {});
    const delivered: number[] = [];
    const received = once(peer, 'message');
    void socket.send(Buffer.from('frame'), () => delivered.push(1));
    const [data, isBinary] = (await received) as [Buffer, boolean];
    expect([data.toString(), isBinary, delivered]).toEqual(['frame', true, []]);

    socket.probe();
    await expect.poll(() => delivered).toEqual([1]);

    void socket.send(new Uint8Array(200_000), () => delivered.push(2)); // so much is probed without being asked
    await expect.poll(() => delivered).toEqual([1, 2]);
  });

  it('does not believe a pong to a question it never asked', async () => {
    const { socket, peer } = await connect();
    socket.open(() => {});
    const delivered: number[] = [];
    void socket.send(Buffer.from('frame'), () => delivered.push(1));
    peer.pong('probe 7');
    const closed = once(peer, 'close');
    socket.close();
    await closed;

    expect(delivered).toEqual([]);
  });

  it('makes senders wait while much is under way, and lets them go when the connection ends', async () => {
    const { socket, peer } = await connect();
    peer.pause();
    const send = (): void | Promise<void> => socket.send(new Uint8Array(200_000));
    let waiting = send();
    for (let sent = 1; !waiting && sent < 2000; sent++) waiting = send();
    expect(waiting).toBeInstanceOf(Promise);

    peer.terminate();
    await waiting;
    await socket.closed;

    expect(socket.send(new Uint8Array(1))).toBeUndefined();
  });

  it.each([
    ['ignore', false],
    ['disconnect', true],
  ] as const)('is told to %s text', async (onText, ends) => {
    const { socket, peer } = await connect(onText);
    const seen = deferred();
    socket.open(() => seen.resolve());
    peer.send('text');
    peer.send(Buffer.from('frame'));

    const first = await Promise.race([socket.closed.then(() => true), seen.promise.then(() => false)]);

    expect(first).toBe(ends);
  });

  it('says with which status it was refused, and never where', async () => {
    server.close();
    const refusing = createServer((socket) => {
      socket.on('data', () => socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n'));
      socket.on('error', () => {}); // it has heard enough
    });
    refusing.listen(0, '127.0.0.1');
    await once(refusing, 'listening');
    const address = `ws://127.0.0.1:${(refusing.address() as AddressInfo).port}/?sig=secret`;

    const refused = await openRendezvousSocket(address, { onText: 'ignore' }, never).catch((error: unknown) => error);
    refusing.close();
    const gone = await openRendezvousSocket(address, { onText: 'ignore' }, never).catch((error: unknown) => error);

    expect(refused).toEqual(new UpgradeRefused(403));
    expect(String(gone)).toMatch(/^Error: cannot connect to the rendezvous: .*ECONNREFUSED/);
    expect(String(refused) + String(gone)).not.toContain('secret');
  });

  it('gives up when it is told to', async () => {
    const silent = createServer(() => {});
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const stop = new AbortController();
    const { port } = silent.address() as AddressInfo;
    const connected = once(silent, 'connection');
    const opening = openRendezvousSocket(`ws://127.0.0.1:${port}`, { onText: 'ignore' }, stop.signal);
    await connected;

    stop.abort(new Error('enough'));

    await expect(opening).rejects.toThrow('enough');
    silent.close();
  });
});
