import { UsageError } from './arguments.ts';
import { CallError } from './client.ts';
import { measureClientCeiling } from './client-ceiling.ts';
import { Fixtures } from './fixtures.ts';
import { quietMachine } from './machine.ts';
import type { Progress } from './progress.ts';
import { type Scale, scales } from './scale.ts';
import { type ServerCommand, ServerUnderTest } from './server-under-test.ts';
import { Tally, type WorkloadResult } from './tally.ts';
import type { Figure, Outcome, Workload } from './workload.ts';
import { workloads } from './workloads/index.ts';

const methodNotFound = -32601;
const deadlinesMs = { quick: 90_000, full: 240_000 };

export interface BenchmarkPlan {
  servers: readonly ServerCommand[];
  scale: 'quick' | 'full';
  rounds: number;
  workloads: readonly string[];
  waitForQuiet: boolean;
  directory: string | undefined;
  env: NodeJS.ProcessEnv;
  /** Starts this program as the echo peer. */
  peerCommand: string;
}

export interface Measurements {
  ceiling: Record<string, Figure>;
  results: WorkloadResult[];
  failures: string[];
  /** How busy others kept the machine before each sample, 0 to 1. */
  busyBefore: number[];
}

/** Runs every workload against every server in turn; when aborted, answers what it has measured by then. */
export async function runBenchmark(
  plan: BenchmarkPlan,
  progress: Progress,
  signal: AbortSignal,
): Promise<Measurements> {
  const scale = scales[plan.scale];
  const measured: Measurements = { ceiling: {}, results: [], failures: [], busyBefore: [] };
  progress.show('preparing fixtures');
  using fixtures = new Fixtures(scale, plan.directory);
  progress.show('measuring the client against the echo peer');
  measured.ceiling = await measureClientCeiling(plan.peerCommand);
  progress.show('starting every server once, so that none is read from disk while it is timed');
  for (const server of plan.servers) await startOnce(server, plan.env);
  for (const [i, name] of plan.workloads.entries()) {
    if (signal.aborted) break;
    const position = `${name} (${i + 1} of ${plan.workloads.length})`;
    const result = await runWorkload(name, position, { plan, progress, signal, fixtures, scale, measured });
    measured.results.push(result);
    progress.finish(position);
  }
  return measured;
}

async function startOnce({ name, command }: ServerCommand, env: NodeJS.ProcessEnv): Promise<void> {
  try {
    await using _started = await ServerUnderTest.start(command, env);
  } catch (error) {
    throw new UsageError(`${name} does not start: ${(error as Error).message}`, { cause: error });
  }
}

interface Run {
  plan: BenchmarkPlan;
  progress: Progress;
  signal: AbortSignal;
  fixtures: Fixtures;
  scale: Scale;
  measured: Measurements;
}

async function runWorkload(name: string, position: string, run: Run): Promise<WorkloadResult> {
  const { plan, progress, signal, measured } = run;
  const workload = workloads[name]!;
  const tally = new Tally(
    name,
    plan.servers.map((server) => server.name),
  );
  const rounds = workload.once ? 1 : plan.rounds;
  for (let round = 1; round <= rounds; round++) {
    // Each server goes first as often as second, so that neither always finds the warmer machine.
    const order = round % 2 === 1 ? plan.servers : plan.servers.toReversed();
    for (const server of order) {
      if (!tally.isServed(server.name)) continue;
      progress.show(`${position}, round ${round} of ${rounds}, ${server.name}`);
      try {
        if (plan.waitForQuiet) measured.busyBefore.push(await quietMachine(signal));
        tally.record(server.name, await sample(server, workload, run));
      } catch (error) {
        if (signal.aborted) return tally.result();
        if (error instanceof CallError && error.code === methodNotFound) {
          tally.recordNotServed(server.name, error.method);
          continue;
        }
        tally.recordFailure(server.name);
        measured.failures.push(`${name}, round ${round}, ${server.name}: ${(error as Error).message}`);
      }
    }
  }
  return tally.result();
}

async function sample(server: ServerCommand, workload: Workload, run: Run): Promise<Outcome> {
  const { plan, signal, fixtures, scale } = run;
  await using running = await ServerUnderTest.start(server.command, plan.env);
  const deadlineMs = deadlinesMs[plan.scale];
  const stop = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]);
  const stopped = new Promise<never>((_, reject) => {
    stop.addEventListener('abort', () => reject(new Error(`not done within ${deadlineMs / 1000} s`)), { once: true });
  });
  return await Promise.race([workload.run({ server: running, fixtures, scale }), stopped]);
}
