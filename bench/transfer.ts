import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from './client.ts';
import type { Fixtures } from './fixtures.ts';
import type { ServerUnderTest } from './server-under-test.ts';
import { type ChunkObserver, decodeChunk } from './tracked-process.ts';
import { type Figure, higher, info, lower, status, verify } from './workload.ts';

export interface TransferPlan {
  argv: string[];
  /** What each producer must print, to the byte. */
  bytes: number;
  tty?: boolean;
  producers?: number;
  /** Stops reading for this long once the producers run. */
  stallMs?: number;
  /** Compares every nth chunk with the fixture pattern. */
  check?: { fixtures: Fixtures; every: number };
}

export interface Transfer {
  seconds: number;
  bytes: number;
  serverCpuSeconds: number;
  clientCpuSeconds: number;
  peakRssMiB: number;
  stalledRssMiB: number;
  chunkBytes: number;
  overtaken: number;
}

/** Runs producers to their end, checks that everything they printed arrived, and says what that took. */
export async function transfer(server: ServerUnderTest, client: Client, plan: TransferPlan): Promise<Transfer> {
  const { argv, bytes, tty = false, producers = 1, stallMs = 0, check } = plan;
  let differing = 0;
  const observer = (): ChunkObserver | undefined => {
    if (!check) return undefined;
    let seen = 0;
    return (frame, start, end, offset) => {
      if (seen++ % check.every !== 0) return;
      if (!check.fixtures.matches(decodeChunk(frame, start, end), offset)) differing++;
    };
  };

  server.use.resetPeak();
  const framesBefore = client.outputFrames;
  const cpuBefore = server.use.cpuSeconds().own;
  const clientBefore = process.cpuUsage();
  const before = performance.now();
  const processes = Array.from({ length: producers }, () => client.start({ argv, tty }, observer()));
  const stalledRssMiB = stallMs > 0 ? await stall() : 0;
  await Promise.all(processes.map((each) => each.closed));
  const seconds = (performance.now() - before - stallMs) / 1000;
  const serverCpuSeconds = server.use.cpuSeconds().own - cpuBefore;
  const clientCpu = process.cpuUsage(clientBefore);

  await Promise.all(processes.map((each) => each.ended()));
  await status(client); // whatever the server still had to send for them is here before the answer

  for (const each of processes) {
    verify(each.bytes === bytes, `${each.bytes} of ${bytes} bytes arrived`);
    verify(each.missingEvents === 0, `${each.missingEvents} events are missing`);
    verify(each.exitCode === 0, `exit code ${each.exitCode}`);
  }
  verify(differing === 0, `${differing} chunks differ`);

  return {
    seconds,
    bytes: bytes * producers,
    serverCpuSeconds,
    clientCpuSeconds: (clientCpu.user + clientCpu.system) / 1e6,
    peakRssMiB: server.use.memory().peakRssMiB,
    stalledRssMiB,
    chunkBytes: (bytes * producers) / (client.outputFrames - framesBefore),
    overtaken: processes.reduce((sum, each) => sum + each.overtaken, 0),
  };

  async function stall(): Promise<number> {
    await Promise.all(processes.map((each) => each.response));
    await sleep(20);
    client.pause();
    await sleep(stallMs);
    const { rssMiB } = server.use.memory();
    client.resume();
    return rssMiB;
  }
}

export const megabytesPerSecond = ({ bytes, seconds }: { bytes: number; seconds: number }): number =>
  bytes / 1e6 / seconds;

export function transferFigures(result: Transfer): Record<string, Figure> {
  const gibibytes = result.bytes / 2 ** 30;
  return {
    throughput: higher(megabytesPerSecond(result), 'MB/s'),
    'server cpu': lower(result.serverCpuSeconds / gibibytes, 's/GiB'),
    'peak rss': lower(result.peakRssMiB, 'MiB'),
    'chunk size': info(result.chunkBytes, 'B'),
    'client cpu': info(result.clientCpuSeconds / gibibytes, 's/GiB'),
    'events out of seq order': info(result.overtaken, ''),
  };
}
