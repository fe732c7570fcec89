import { createHash } from 'node:crypto';
import { Scope } from '../../src/base/index.ts';
import type { ExecServerClient } from '../../src/client/index.ts';
import { PathUri } from '../../src/protocol/index.ts';
import type { Progress } from '../progress.ts';
import { median, quantile } from '../stats.ts';
import type { Executor } from './executors.ts';
import type { Path } from './paths.ts';

export interface TransferOptions {
  /** What is printed, and its SHA-256. */
  readonly file: { readonly path: string; readonly bytes: number; readonly digest: string };
  readonly requests: number;
  readonly rounds: number;
}

export interface TransferResult {
  readonly path: string;
  readonly executor: string;
  /** Of the rounds. */
  readonly megabytesPerSecond: readonly number[];
  readonly roundTripMs: { readonly p50: number; readonly p99: number };
}

/** Output and round trips over every path, the executors taking turns. */
export async function measureTransfers(
  paths: readonly Path[],
  executors: readonly Executor[],
  { file, requests, rounds }: TransferOptions,
  progress: Progress,
): Promise<TransferResult[]> {
  const results: TransferResult[] = [];
  for (const path of paths) {
    await using scope = new Scope();
    const clients: ExecServerClient[] = [];
    for (const executor of executors) clients.push(await path.connect(scope, executor));
    const samples = clients.map(() => ({ speeds: [] as number[], trips: [] as number[] }));
    for (let round = 0; round < rounds; round++) {
      for (const [at, client] of clients.entries()) {
        progress.show(`${path.name}, ${executors[at]!.name}, round ${round + 1}`);
        samples[at]!.trips.push(...(await roundTrips(client, requests)));
        samples[at]!.speeds.push(await speedOf(client, file));
      }
    }
    progress.finish(path.name);
    for (const [at, { speeds, trips }] of samples.entries()) {
      results.push({
        path: path.name,
        executor: executors[at]!.name,
        megabytesPerSecond: speeds,
        roundTripMs: { p50: median(trips), p99: quantile(trips, 0.99) },
      });
    }
  }
  return results;
}

async function roundTrips(client: ExecServerClient, requests: number): Promise<number[]> {
  const path = PathUri.fromNative('/');
  const times: number[] = [];
  for (let n = 0; n < requests + WARM_UP; n++) {
    const since = performance.now();
    await client.request('fs/getMetadata', { path });
    times.push(performance.now() - since);
  }
  return times.slice(WARM_UP);
}

const WARM_UP = 50;

/** Verified after the clock has stopped. */
async function speedOf(client: ExecServerClient, file: TransferOptions['file']): Promise<number> {
  const since = performance.now();
  const process = await client.start({ argv: ['cat', file.path], cwd: '/' });
  const chunks: Uint8Array[] = [];
  for await (const { bytes } of process.output) chunks.push(bytes);
  const seconds = (performance.now() - since) / 1000;
  const hash = createHash('sha256');
  for (const chunk of chunks) hash.update(chunk);
  if (hash.digest('hex') !== file.digest) throw new Error('the output is not what was printed');
  return file.bytes / 1e6 / seconds;
}
