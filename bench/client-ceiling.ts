import { Client } from './client.ts';
import type { FloodParams } from './echo-peer.ts';
import { MiB } from './fixtures.ts';
import { ServerUnderTest } from './server-under-test.ts';
import { median } from './stats.ts';
import { TrackedProcess } from './tracked-process.ts';
import { type Figure, inFlight, info, timeEach } from './workload.ts';

const floodBytes = 256 * MiB;

/** What the benchmark's client can do at best; a result near it says more about the client than about the server. */
export async function measureClientCeiling(peerCommand: string): Promise<Record<string, Figure>> {
  await using peer = await ServerUnderTest.start(peerCommand);
  using client = await Client.open(peer.url);
  const call = () => client.call('bench/echo', {});
  await timeEach(500, call);
  const roundTrips = await timeEach(2000, call);
  const calls = 20_000;
  const seconds = await inFlight(calls, 64, call);
  const small = await receiveFlood(client, 8 * 1024);
  const large = await receiveFlood(client, 64 * 1024);
  return {
    'round trip p50': info(median(roundTrips), 'ms'),
    'pipelined x64': info(calls / seconds, 'req/s'),
    'output in 8 KiB chunks': info(small.megabytesPerSecond, 'MB/s'),
    'client cpu, 8 KiB chunks': info(small.cpuPerGiB, 's/GiB'),
    'output in 64 KiB chunks': info(large.megabytesPerSecond, 'MB/s'),
    'client cpu, 64 KiB chunks': info(large.cpuPerGiB, 's/GiB'),
  };
}

async function receiveFlood(client: Client, chunkBytes: number) {
  const params: FloodParams = { processId: `flood-${chunkBytes}`, chunkBytes, totalBytes: floodBytes };
  const cpuBefore = process.cpuUsage();
  const before = performance.now();
  const flood = client.track(new TrackedProcess(params.processId, () => client.call('bench/flood', params)));
  await flood.closed;
  const seconds = (performance.now() - before) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    megabytesPerSecond: flood.bytes / 1e6 / seconds,
    cpuPerGiB: (user + system) / 1e6 / (flood.bytes / 2 ** 30),
  };
}
