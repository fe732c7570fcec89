import { type Command, spawn } from '../../os/index.ts';

/** A program that tries something out or prepares it, and ends soon. */
export interface TrialProgram extends Pick<Command, 'argv' | 'inherit'> {
  readonly mark?: bigint;
}

export interface TrialOutcome {
  /** The exit code; null if a signal ended it. */
  readonly status: number | null;
  readonly stderr: string;
}

export const LONGEST_TRIAL_MS = 10_000;

/** Runs a program to its end, and kills it if that takes too long. */
export async function runTrialProgram({ mark = 0n, ...program }: TrialProgram): Promise<TrialOutcome> {
  const io = { type: 'pipe', stdin: 'closed' } as const;
  await using child = spawn({ ...program, cwd: '/', env: {}, io, mark });
  const timer = setTimeout(() => void child[Symbol.asyncDispose](), LONGEST_TRIAL_MS).unref();
  let stderr = '';
  for await (const event of child.events) {
    if (event.type !== 'output') continue;
    const { buffer, start, end } = event.chunk;
    stderr += Buffer.from(buffer.toString('latin1', start, end), 'base64');
  }
  clearTimeout(timer);
  const status = await child.exited;
  return { status: 'code' in status ? status.code : null, stderr };
}
