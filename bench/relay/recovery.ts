import { Scope } from '../../src/base/index.ts';
import { Balancer, NatsServers, Nodes } from '../../test/system/rendezvous/cluster-fixture.ts';
import type { Progress } from '../progress.ts';
import { connectThrough, type Executor } from './executors.ts';

export interface RecoveryResult {
  readonly executor: string;
  readonly victim: string;
  /** How long nothing came, from the kill on, each time. */
  readonly silenceMs: readonly number[];
}

const VICTIMS = ['node of the environment', 'node of the harness'] as const;
const TICK_MS = 20;
const LINES = 1000;
/** So many lines after the kill, about six seconds of them, and what is lost would show. */
const LINES_AFTER = 300;

/** Kills one of two nodes while a command prints, and looks how long its output stays away. */
export async function measureRecovery(
  executors: readonly Executor[],
  times: number,
  progress: Progress,
): Promise<RecoveryResult[]> {
  await using scope = new Scope();
  const nats = scope.own(await NatsServers.start(3));
  const results: RecoveryResult[] = [];
  for (const [index, victim] of VICTIMS.entries()) {
    for (const executor of executors) {
      const silenceMs: number[] = [];
      while (silenceMs.length < times) {
        progress.show(`${victim} killed, ${executor.name}`);
        silenceMs.push(await recover(nats, executor, index));
      }
      progress.finish(`${victim} killed, ${executor.name}`);
      results.push({ executor: executor.name, victim, silenceMs });
    }
  }
  return results;
}

async function recover(nats: NatsServers, executor: Executor, victim: number): Promise<number> {
  await using scope = new Scope();
  const balancer = scope.own(await Balancer.start());
  const nodes = scope.own(new Nodes(nats));
  const spawned = [
    await nodes.spawn(['--public-url', balancer.url]),
    await nodes.spawn(['--public-url', balancer.url]),
  ];
  for (const node of spawned) balancer.add(node);
  const meeting = { executorUrl: balancer.url, harnessUrl: balancer.url, tokens: nodes.tokens };
  const client = await connectThrough(scope, meeting, executor);
  const script = `i=0; while [ $i -lt ${LINES} ]; do echo $i; i=$((i+1)); sleep ${TICK_MS / 1000}; done`;
  const process = await client.start({ argv: ['sh', '-c', script], cwd: '/' });
  scope.defer(async () => void (await process.terminate()));

  let text = '';
  let killed: { readonly line: number; last: number } | undefined;
  let longest = 0;
  for await (const { bytes } of process.output) {
    const now = performance.now();
    text += Buffer.from(bytes).toString('latin1');
    const lines = text.split('\n').length - 1;
    if (killed) {
      longest = Math.max(longest, now - killed.last);
      killed.last = now;
      if (lines >= killed.line + LINES_AFTER) break;
    } else if (lines >= 20) {
      spawned[victim]!.child.kill('SIGKILL');
      killed = { line: lines, last: performance.now() };
    }
  }
  const complete = text.trimEnd().split('\n');
  if (complete.some((line, at) => line !== `${at}` && at < complete.length - 1)) throw new Error('output is missing');
  return longest;
}
