import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { deferred } from '../../../base/index.ts';
import { WebSocketFrames } from './websocket-frames.ts';

let server: WebSocketServer;
beforeEach(async () => {
  server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
});
afterEach(() => {
  for (const ws of server.clients) ws.terminate();
  server.close();
  vi.useRealTimers();
});

/** A socket of the service, and the client at its other end. */
async function connect(limits: { pingMs: number; silenceMs: number }) {
  const accepted = once(server, 'connection');
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const [ws] = (await accepted) as [WebSocket];
  const ended = deferred();
  const receiver = { receive() {}, ended: () => ended.resolve() };
  await once(client, 'open');
  return { client, ended: ended.promise, socket: new WebSocketFrames(ws, receiver, { ...limits, probeMs: 1000 }) };
}

describe('a socket of the service', () => {
  it('is ended when its peer reads none of its answers', async () => {
    const { client, socket, ended } = await connect({ pingMs: 30_000, silenceMs: 75_000 });
    client.pause();
    const frame = Buffer.alloc(256 * 1024);
    for (let n = 0; n < 1024 + 100; n++) socket.send(frame);

    await ended;
  });

  it('is kept while its peer reads them, however many there are', async () => {
    const { client, socket } = await connect({ pingMs: 30_000, silenceMs: 75_000 });
    for (let n = 0; n < 3; n++) {
      for (let frames = 0; frames < 1000; frames++) socket.send(Buffer.from('frame'));
      client.ping(`${n}`);
      await once(client, 'pong');
    }

    expect(client.readyState).toBe(client.OPEN);
  });

  it('is not considered silent when the wall clock is changed', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const { client, ended } = await connect({ pingMs: 20, silenceMs: 60_000 });
    vi.setSystemTime(Date.now() + 3_600_000);
    const pinged = once(client, 'ping').then(() => once(client, 'ping'));

    await Promise.race([pinged, ended.then(() => Promise.reject(new Error('given up')))]);
  });
});
