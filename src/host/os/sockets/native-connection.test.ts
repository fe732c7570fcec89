import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { type Connection, connect } from './native-connection.ts';

async function listen(where: ListenOptions): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }).listen(where);
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return server;
}

async function listenOnPath(): Promise<{ server: Server; path: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'connection-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'socket');
  return { server: await listen({ path }), path };
}

async function acceptedBy(server: Server): Promise<Socket> {
  const [socket] = await once(server, 'connection');
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** The events of a connection but for its output, up to the last one. */
async function endOf({ events }: Connection): Promise<unknown[]> {
  const seen: unknown[] = [];
  for await (const event of events) if (event.type !== 'output') seen.push(event);
  return seen;
}

it('is over when the other end has closed a Unix socket, which is no failure', async () => {
  const { server, path } = await listenOnPath();
  const accepting = acceptedBy(server);
  const connection = await connect({ path });

  (await accepting).destroy();

  expect(await endOf(connection)).toEqual([{ type: 'ended', code: undefined }]);
});

it('stays open for sending when the other end has ended alone', async () => {
  const { server, path } = await listenOnPath();
  const accepting = acceptedBy(server);
  const connection = await connect({ path });
  const other = await accepting;

  other.end();
  const { value: event } = await connection.events[Symbol.asyncIterator]().next();
  expect(event).toEqual({ type: 'ended', code: undefined });
  await connection.input.write(Buffer.from('still here'));

  expect(String((await once(other, 'data'))[0])).toBe('still here');
  connection.close();
});

it('fails by a reset that came before what had been sent was read', async () => {
  const server = await listen({ port: 0, host: '127.0.0.1' });
  const accepting = acceptedBy(server);
  const connection = await connect({
    address: new Uint8Array([127, 0, 0, 1]),
    port: (server.address() as AddressInfo).port,
  });
  const other = await accepting;

  other.end(Buffer.alloc(240 * 1024)); // leaves less room than is worth a read, so that the end waits for the consumer
  await once(other, 'finish');
  other.resetAndDestroy();
  await once(other, 'close');

  expect(await endOf(connection)).toEqual([
    { type: 'ended', code: undefined },
    { type: 'inputFailed', code: 'EPIPE' },
  ]);
});
