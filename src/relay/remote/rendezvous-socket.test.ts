import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { deferred } from '../../base/index.ts';
import { Outgoing } from '../../host/http/index.ts';
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
  const socket = await openRendezvousSocket(url, { onText, outgoing: Outgoing.direct }, never);
  const [peer] = (await accepted) as [WebSocket];
  return { socket, peer };
}

describe('a socket to a rendezvous', () => {
  it('hands over frames that came along with the answer, once a receiver takes them', async () => {
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

  it('does not consider its peer lost while the receiver is busy, when no pongs are read', async () => {
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

  it('sends frames in parts as messages like others, in order, however long', async () => {
    const { socket, peer } = await connect();
    socket.open(() => {});
    const lengths = [3, 125, 126, 8191, 8192, 65_535, 65_536, 262_144];
    const sent = lengths.flatMap((length) => [randomBytes(length), Buffer.from(`after ${length}`)]);
    const received: Buffer[] = [];
    const isBinary = new Set<boolean>();
    peer.on('message', (data, binary) => {
      received.push(data as Buffer);
      isBinary.add(binary);
    });

    for (const [at, whole] of sent.entries()) {
      const parts = [whole.subarray(0, 1), whole.subarray(1, 2), whole.subarray(2)];
      void socket.send(at % 2 === 0 ? parts : whole);
    }
    const delivered = deferred();
    void socket.send([Buffer.from('the '), Buffer.from('last')], delivered.resolve);
    socket.probe();
    await delivered.promise;

    expect(received.map((data) => data.length)).toEqual([...sent.map(({ length }) => length), 8]);
    expect(Buffer.concat(received).equals(Buffer.concat([...sent, Buffer.from('the last')]))).toBe(true);
    expect([...isBinary]).toEqual([true]);
  });

  it('masks every frame with a key of its own, whole frames and those in parts', async () => {
    const { socket, peer } = await connect();
    const { _socket: tcp } = peer as unknown as { _socket: Socket };
    const bytes: Buffer[] = [];
    tcp.on('data', (piece) => void bytes.push(piece));
    const frames = Array.from({ length: 50 }, () => [new Uint8Array(1), new Uint8Array(1)]);
    const delivered = deferred();
    socket.open(() => {});

    for (const parts of frames) void socket.send(parts);
    for (const [whole] of frames) void socket.send(whole!);
    void socket.send(new Uint8Array(1), delivered.resolve);
    socket.probe();
    await delivered.promise;

    // Two bytes of header, four of the key, and the content: two bytes of those in parts, one of the others.
    const all = Buffer.concat(bytes);
    const inParts = frames.map((_, at) => all.readUInt32BE(8 * at + 2));
    const whole = frames.map((_, at) => all.readUInt32BE(8 * 50 + 7 * at + 2));
    expect(new Set([...inParts, ...whole]).size).toBeGreaterThan(98);
  });

  it('ignores a pong to a ping that it never sent', async () => {
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

  it.each([
    ['whole', new Uint8Array(200_000)],
    ['in parts', [new Uint8Array(50), new Uint8Array(200_000), new Uint8Array(16)]],
  ])('makes senders of frames %s wait until the peer reads on, or the connection ends', async (_, frame) => {
    const { socket, peer } = await connect();
    const fill = (): Promise<void> => {
      peer.pause();
      for (let sent = 0; sent < 2000; sent++) {
        const waiting = socket.send(frame);
        if (waiting) return waiting;
      }
      throw new Error('no sender has to wait');
    };

    const first = fill();
    peer.resume();
    await first;
    const second = fill();
    peer.terminate();
    await second;
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

  it('reports the status of a refusal, and never the URL', async () => {
    server.close();
    const refusing = createServer((socket) => {
      socket.on('data', () => socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n'));
      socket.on('error', () => {}); // the client resets the connection
    });
    refusing.listen(0, '127.0.0.1');
    await once(refusing, 'listening');
    const address = `ws://127.0.0.1:${(refusing.address() as AddressInfo).port}/?sig=secret`;

    const refused = await openRendezvousSocket(address, { onText: 'ignore', outgoing: Outgoing.direct }, never).catch(
      (error: unknown) => error,
    );
    refusing.close();
    const gone = await openRendezvousSocket(address, { onText: 'ignore', outgoing: Outgoing.direct }, never).catch(
      (error: unknown) => error,
    );

    expect(refused).toEqual(new UpgradeRefused(403));
    expect(String(gone)).toMatch(/^Error: cannot connect to the rendezvous: .*ECONNREFUSED/);
    expect(String(refused) + String(gone)).not.toContain('secret');
  });

  it('gives up when its signal aborts', async () => {
    const silent = createServer(() => {});
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const stop = new AbortController();
    const { port } = silent.address() as AddressInfo;
    const connected = once(silent, 'connection');
    const opening = openRendezvousSocket(
      `ws://127.0.0.1:${port}`,
      { onText: 'ignore', outgoing: Outgoing.direct },
      stop.signal,
    );
    await connected;

    stop.abort(new Error('enough'));

    await expect(opening).rejects.toThrow('enough');
    silent.close();
  });
});
