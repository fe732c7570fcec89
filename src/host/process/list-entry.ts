import { PathUri, type Result } from '../../protocol/index.ts';
import type { ManagedProcess } from './managed-process.ts';
import { exitOf } from './state.ts';

/** A process as `process/list` tells of it. */
export function listEntry(process: ManagedProcess): Result<'process/list'>['processes'][number] {
  const { processId, argv, cwd, tty, pid, state, startedAtMs, nextSeq, view } = process;
  return {
    processId,
    argv: [...argv],
    tty,
    phase: state.phase,
    exitCode: exitOf(state)?.exitCode ?? null,
    startedAtMs,
    nextSeq,
    pid,
    cwd: PathUri.fromNative(cwd),
    timedOut: false,
    ...view.ending,
  };
}
