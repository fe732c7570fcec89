import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it, vi } from 'vitest';
import { silentLogger } from '../../base/index.ts';
import { InputBudget } from '../stream/index.ts';
import { StreamTable } from './stream-table.ts';

/** The streams of a session whose client answers, and which are kept for a moment after their end. */
const streamTable = (): StreamTable =>
  new StreamTable({
    audience: { send: () => {}, probe: () => {}, answers: async () => true },
    inputBudget: new InputBudget(),
    bytes: { fromPorts: 0, toPorts: 0 },
    networks: { shared: undefined, ofProcess: async () => undefined },
    closedMs: 1,
    log: silentLogger,
    settings: () => ({ allowForward: [], retainedOutputBytesPerProcess: 1024 }),
  });

it('forgets closed streams whose client has acknowledged no data', async () => {
  const server = createServer((socket) => socket.end('hello')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await using streams = streamTable();

  for (const streamId of ['ended', 'abandoned']) await streams.open({ streamId, port, windowBytes: 1024 }, () => {});
  await vi.waitFor(() => expect(streams.require('ended').nextSeq).toBe(3));
  streams.require('ended').end();
  streams.require('abandoned').close();
  await vi.waitFor(() => expect(streams.list()).toEqual([]));

  server.close();
});
