import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { childrenOf, descriptorsOf, residentMiB } from '../support/proc.ts';
import { randomFrom, seedFrom } from '../support/seeded.ts';
import { startPreparedServer } from '../support/server.ts';
import { connect, connectBare, type WebSocketClient } from '../support/wire-client.ts';
import { isSafe } from './guard.ts';
import { validRequest } from './messages.ts';
import { mutate } from './mutate.ts';

const seed = seedFrom('FUZZ_SEED');
const count = Number(process.env.FUZZ_MESSAGES ?? 100_000);
const CONNECTIONS = 6;
/** Requests sent before the answer to one more is awaited, so that the server is busy but not drowned. */
const BURST = 50;

it(`${count} mutated messages neither crash nor hang nor bloat the server (FUZZ_SEED=${seed})`, async () => {
  const random = randomFrom(seed);
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'exec-server-fuzz-')));
  await using server = await startPreparedServer({ args: ['--detached-session-ttl-ms', '0'] });
  await settle(server.url, folder);
  const before = {
    descriptors: descriptorsOf(server.pid),
    children: childrenOf(server.pid),
    memory: residentMiB(server.pid),
  };
  const processIds = new Set<string>();
  const clients: (WebSocketClient | undefined)[] = [];
  let sent = 0;
  for (let turn = 0; sent < count; turn++) {
    const slot = turn % CONNECTIONS;
    const client = clients[slot] ?? (await opened(server.url, random));
    clients[slot] = client;
    for (let burst = 0; burst < BURST; burst++) {
      const { text, processId } = validRequest(1000 + random(1000), folder, random);
      if (processId !== undefined) processIds.add(processId);
      const message = mutate(text, random);
      if (!isSafe(message, { folder, processIds })) continue;
      client.raw(message);
      sent++;
    }
    const answered = await client.call('environment/status').then(
      () => true,
      // Refused before the handshake, or the connection was ended over a message: both are answers.
      () => client.socket.readyState === client.socket.OPEN,
    );
    client.stray.length = 0;
    if (!answered) clients[slot] = undefined;
  }
  for (const client of clients) client?.cut();
  await settle(server.url, folder);
  await expect.poll(() => childrenOf(server.pid), { timeout: 30_000 }).toEqual(before.children);
  await expect.poll(() => descriptorsOf(server.pid), { timeout: 30_000 }).toBeLessThanOrEqual(before.descriptors);
  expect(residentMiB(server.pid) - before.memory).toBeLessThan(300);
  expect(server.process.exitCode).toBeNull();
  await rm(folder, { recursive: true, force: true });
});

/** Most connections shake hands; some start talking without. */
async function opened(url: string, random: (below: number) => number): Promise<WebSocketClient> {
  return random(10) === 0 ? connectBare(url) : connect(url);
}

/** The server still takes a new client, answers it and runs a process for it. */
async function settle(url: string, folder: string): Promise<void> {
  await using client = await connect(url);
  expect(await client.call('environment/status')).toEqual({ status: 'ready' });
  await client.call('fs/watchMissing', { watchId: 1, missing: [`file://${folder}/missing`] });
  const process = await client.start({ argv: ['/bin/echo', 'alive'] });
  await process.closed();
  expect(process.output()).toBe('alive\n');
}
