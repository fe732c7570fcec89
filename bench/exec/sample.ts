import { cpuMicros } from './cpu-time.ts';
import { runScript, type Variant } from './variant.ts';

/** What starting one program costs, in microseconds. */
export interface Cost {
  readonly cpu: number;
  readonly wall: number;
}

/** The longest a sample may take, however slow the machine. */
const SAMPLE_MS = 10 * 60_000;

/** Starts many programs, and again none, and divides the difference. Rejects when a single one went wrong. */
export async function sample(bash: string, variant: Variant, execs: number): Promise<Cost> {
  const limit = AbortSignal.timeout(SAMPLE_MS);
  const none = await measure(bash, variant, 0, limit);
  const many = await measure(bash, variant, execs, limit);
  return { cpu: (many.cpu - none.cpu) / execs, wall: (many.wall - none.wall) / execs };
}

async function measure(bash: string, variant: Variant, execs: number, limit: AbortSignal): Promise<Cost> {
  const script = `ok=0; for ((i = 0; i < ${execs}; i++)); do /bin/true && ok=$((ok + 1)); done; echo "$ok of $i"`;
  const before = { cpu: cpuMicros(), wall: performance.now() };
  const { stdout, asked } = await runScript(bash, script, variant, limit);
  const cost = { cpu: cpuMicros() - before.cpu, wall: (performance.now() - before.wall) * 1000 };
  const { answer } = variant.interception ?? {};
  const seen = `${stdout.trim()} succeeded, ${asked} asked`;
  const questions = answer === 'pass' ? Math.min(execs, 1) : answer ? execs : 0;
  const expected = `${answer === 'deny' ? 0 : execs} of ${execs} succeeded, ${questions} asked`;
  if (seen !== expected) throw new Error(`${variant.name}: ${seen}; expected ${expected}`);
  return cost;
}
