import type { EncodedChunk } from './chunk.ts';

export type { EncodedChunk } from './chunk.ts';

export type ExitStatus = { readonly code: number } | { readonly signal: number };

export type OutputStream = 'stdout' | 'stderr' | 'pty';

/** The standard descriptors of a child. With `stderr: 'stdout'` both are one pipe. */
export type ChildIo =
  | {
      readonly type: 'pipe';
      readonly stdin: 'open' | 'closed';
      readonly stderr?: 'separate' | 'stdout' | null | undefined;
    }
  | { readonly type: 'pty'; readonly rows: number; readonly cols: number };

/** The streams that come from a child. */
export function outputStreams(io: ChildIo): readonly OutputStream[] {
  if (io.type === 'pty') return ['pty'];
  return io.stderr === 'stdout' ? ['stdout'] : ['stdout', 'stderr'];
}

export type ChildEvent =
  | { readonly type: 'output'; readonly stream: OutputStream; readonly chunk: EncodedChunk }
  | { readonly type: 'ended'; readonly stream: OutputStream }
  | { readonly type: 'exited'; readonly status: ExitStatus };

/** A running process. Disposing it kills its family and waits for its end. */
export interface Child extends AsyncDisposable {
  readonly pid: number;
  /** Every event in order, once; taking the next event returns the room of the previous chunk to the reader. */
  readonly events: AsyncIterable<ChildEvent>;
  /** Settles at the real exit, even while events are not taken. */
  readonly exited: Promise<ExitStatus>;
  /** The pipe, if its writing end is open, or the terminal. */
  readonly stdin: ChildInput | undefined;
  /** Signals the process group; false when the leader is already reaped. */
  signal(signal: number): boolean;
  /**
   * Gives a family to a process that was spawned without one, unless it has ended. `refused`: this user may never change a process
   * like this one. `failed`: another time it may work.
   */
  join(mark: bigint): 'joined' | 'ended' | 'refused' | 'failed';
  /** Terminals only. */
  resize(rows: number, cols: number): void;
  /** The end-of-file character of a terminal and whether it is canonical and echoing. */
  terminalMode(): { canonical: boolean; echo: boolean; eof: number };
  /** Stops reading: pending events are still delivered, then every open stream is reported ended. A terminal hangs up. */
  closeOutputs(): void;
}

export interface ChildInput {
  /** An upper bound of the bytes that wait for the child to read them. */
  readonly queued: number;
  /** Whether so many bytes would be queued at once; otherwise their write waits until the child has read others. */
  hasRoom(length: number): boolean;
  /** Resolves once the bytes are queued and there is room for more; rejects with EPIPE or a similar code when the reader has ended. */
  write(bytes: Uint8Array): Promise<void>;
  /** Resolves once the child has read what is queued; rejects as `write` does. */
  flushed(): Promise<void>;
  /** Closes after the queued bytes. Pipes only: a terminal stays open. */
  end(): void;
}
