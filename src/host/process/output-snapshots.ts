import type { Result } from '../../protocol/index.ts';
import type { EncodedChunk, OutputStream } from '../os/index.ts';
import { EncodedHeadTail } from './encoded-head-tail.ts';

type SnapshotOutput = Omit<Result<'process/snapshot'>, 'exitCode' | 'running'>;

/** Beginning and end of each stream of a process. */
export class OutputSnapshots {
  readonly #streams: Readonly<Record<OutputStream, EncodedHeadTail>>;

  constructor(limitBytes: number, onDropped: (chunk: EncodedChunk) => void) {
    const headTail = () => new EncodedHeadTail(limitBytes, onDropped);
    this.#streams = { stdout: headTail(), stderr: headTail(), pty: headTail() };
  }

  add(stream: OutputStream, chunk: EncodedChunk): void {
    this.#streams[stream].add(chunk);
  }

  read(): SnapshotOutput {
    const stdout = this.#streams.stdout.snapshot();
    const stderr = this.#streams.stderr.snapshot();
    const terminal = this.#streams.pty.snapshot();
    const omittedBytes = {
      stdout: stdout.omittedBytes,
      stderr: stderr.omittedBytes,
      terminal: terminal.omittedBytes,
    };
    return {
      stdout: stdout.bytes,
      stderr: stderr.bytes,
      terminal: terminal.bytes,
      truncated: Object.values(omittedBytes).some((omitted) => omitted > 0),
      omittedBytes,
    };
  }
}
