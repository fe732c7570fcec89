import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { Outgoing } from '../http/index.ts';
import type { Admission, Gate } from './gate.ts';
import { createHttpProxy } from './http-proxy.ts';

const LOOPBACK = '127.0.0.1';
/** Nothing listens there. */
const CLOSED_PORT = 1;

const { roots } = Outgoing.direct;

/** Admits every connection, through an upstream proxy that cannot be reached. */
const gate = {
  admit: (): Promise<Admission> =>
    Promise.resolve({
      allowed: true,
      host: LOOPBACK,
      addresses: [LOOPBACK],
      proxy: { host: LOOPBACK, port: CLOSED_PORT, tls: false, authorization: undefined, addresses: [LOOPBACK], roots },
    }),
} as unknown as Gate;

it.each([
  ['a request', (port: number) => `GET http://${LOOPBACK}:${port}/ HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`],
  ['a tunnel', (port: number) => `CONNECT ${LOOPBACK}:${port} HTTP/1.1\r\n\r\n`],
])('%s does not go around an upstream proxy that cannot be reached', async (_, message) => {
  let reached = 0;
  const origin = createServer((socket) => {
    reached++;
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
  }).listen(0, LOOPBACK);
  const proxy = createHttpProxy(gate).listen(0, LOOPBACK);
  await Promise.all([once(origin, 'listening'), once(proxy, 'listening')]);

  const socket = connect((proxy.address() as AddressInfo).port, LOOPBACK);
  socket.write(message((origin.address() as AddressInfo).port));
  const answer = Buffer.concat(await socket.toArray()).toString();
  proxy.close();
  origin.close();

  expect(answer).toContain('502');
  expect(reached).toBe(0);
});
