import { concatBytes } from '../base/index.ts';
import type { OutputStream, Result } from '../protocol/index.ts';

/** The bytes of output that the client has received up to an event. */
export interface OutputTotals {
  readonly lastSeq: number;
  readonly bytes: Readonly<Record<OutputStream, number>>;
}

/** The answer of `process/snapshot`, made from that of `process/read` for servers without the method. */
export function readSnapshot(retained: Result<'process/read'>, printed: OutputTotals): Result<'process/snapshot'> {
  const kept = (stream: OutputStream, upToSeq = Number.POSITIVE_INFINITY): Uint8Array[] =>
    retained.chunks.filter((chunk) => chunk.stream === stream && chunk.seq <= upToSeq).map(({ chunk }) => chunk);
  const omitted = (stream: OutputStream): number =>
    Math.max(0, printed.bytes[stream] - concatBytes(kept(stream, printed.lastSeq)).length);
  const omittedBytes = { stdout: omitted('stdout'), stderr: omitted('stderr'), terminal: omitted('pty') };
  return {
    stdout: concatBytes(kept('stdout')),
    stderr: concatBytes(kept('stderr')),
    terminal: concatBytes(kept('pty')),
    truncated: Object.values(omittedBytes).some((bytes) => bytes > 0),
    omittedBytes,
    exitCode: retained.exitCode ?? null,
    running: !retained.exited,
  };
}
