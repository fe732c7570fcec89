import { Client } from './client.ts';
import type { Fixtures } from './fixtures.ts';
import type { Acknowledgement } from './raw-websocket.ts';
import type { Scale } from './scale.ts';
import type { ServerUnderTest } from './server-under-test.ts';

/** One figure of one round; without a direction it is shown but not judged. */
export interface Figure {
  value: number;
  unit: string;
  better?: 'higher' | 'lower';
}

export interface Outcome {
  /** Latencies in milliseconds, pooled over the rounds. */
  samples?: Record<string, number[]>;
  figures?: Record<string, Figure>;
}

export interface WorkloadContext {
  server: ServerUnderTest;
  fixtures: Fixtures;
  scale: Scale;
  /** How the workload's client acknowledges; `delayed` is how a kernel does by itself. */
  acknowledgement?: Acknowledgement;
}

export interface Workload {
  about: string;
  /** Nothing is timed: one round is enough. */
  once?: boolean;
  run(context: WorkloadContext): Promise<Outcome>;
}

export const higher = (value: number, unit: string): Figure => ({ value, unit, better: 'higher' });
export const lower = (value: number, unit: string): Figure => ({ value, unit, better: 'lower' });
export const info = (value: number, unit: string): Figure => ({ value, unit });

/** A result that differs from what the work must give makes the run fail, however fast it was. */
export function verify(correct: boolean, otherwise: string): asserts correct {
  if (!correct) throw new Error(`wrong result: ${otherwise}`);
}

/** Runs the action over and over, one at a time; answers how many milliseconds each took. */
export async function timeEach(count: number, action: (index: number) => Promise<unknown>): Promise<number[]> {
  const took = new Array<number>(count);
  for (let i = 0; i < count; i++) {
    const before = performance.now();
    await action(i);
    took[i] = performance.now() - before;
  }
  return took;
}

/** Keeps `width` actions in flight until `count` are done; answers the seconds it took. */
export async function inFlight(
  count: number,
  width: number,
  action: (index: number) => Promise<unknown>,
): Promise<number> {
  const before = performance.now();
  let next = 0;
  const lane = async () => {
    while (next < count) await action(next++);
  };
  await Promise.all(Array.from({ length: width }, lane));
  return (performance.now() - before) / 1000;
}

export const status = (client: Client): Promise<unknown> => client.call('environment/status', {});

/** A client of a server that has served a few calls and processes, as it has for most of its life. */
export async function openWarmClient({
  server,
  acknowledgement,
}: Pick<WorkloadContext, 'server' | 'acknowledgement'>): Promise<Client> {
  const client = await Client.open(server.url, acknowledgement);
  await timeEach(200, () => status(client));
  await timeEach(5, () => client.start({ argv: ['/bin/true'] }).closed);
  return client;
}

/**
 * The same work for a client that acknowledges what it receives at once. A server that leaves Nagle's algorithm on holds its
 * second message back until the first is acknowledged, and a kernel takes up to 40 ms for that.
 */
export function acknowledgedAtOnce(workload: Workload): Workload {
  return {
    ...workload,
    about: `${workload.about}, for a client that acknowledges at once`,
    run: (context) => workload.run({ ...context, acknowledgement: 'at once' }),
  };
}
