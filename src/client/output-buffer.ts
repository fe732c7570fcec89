import { Changes } from '../base/index.ts';
import type { OutputStream } from '../protocol/index.ts';
import type { ConnectionWaits } from './connection-waits.ts';
import { OutputGapError, type SeqRange } from './errors.ts';

/** A piece of output, as the server read it from the process. */
export interface OutputChunk {
  readonly seq: number;
  readonly stream: OutputStream;
  readonly bytes: Uint8Array;
}

/**
 * Output of one process between the connection and its reader.
 *
 * While it is being iterated no output is lost: a reader that falls behind stops the reading of the connection. Without an
 * iteration, the newest 4 MiB are kept so that a forgotten process can neither block the others nor fill the memory.
 * The next iteration then throws an `OutputGapError` for the dropped output, and the one after it continues with the rest.
 */
export class OutputBuffer implements AsyncIterable<OutputChunk> {
  readonly #processId: string;
  readonly #waits: ConnectionWaits;
  readonly #onWanted: () => void;
  readonly #changes = new Changes();
  #chunks: OutputChunk[] = [];
  #first = 0;
  #bytes = 0;
  #isRead = false;
  /** Callers of `change`. */
  #waiting = 0;
  #dropped: (SeqRange & { bytes: number }) | undefined;
  #end: { readonly failure?: Error } | undefined;

  /** `onWanted` is called whenever the reader could take more. */
  constructor(processId: string, waits: ConnectionWaits, onWanted: () => void = () => {}) {
    this.#processId = processId;
    this.#waits = waits;
    this.#onWanted = onWanted;
  }

  /** Whether no more output will come. */
  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  /** Whether there is a reader, and it could take more. */
  get isWanted(): boolean {
    return (this.#isRead || this.#waiting > 0) && !this.#end && this.#bytes < AHEAD_BYTES;
  }

  add(chunk: OutputChunk): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.bytes.length;
    while (!this.#isRead && this.#bytes > UNREAD_BYTES) this.#drop();
    this.#changes.notify();
  }

  /** Resolves when the reader has caught up; undefined if it need not. */
  room(): void | Promise<void> {
    if (this.#isFull()) return this.#roomAgain();
  }

  /** Marks the end of the output: the process has closed, or can no longer be followed. */
  finish(failure?: Error): void {
    this.#end = failure ? { failure } : {};
    this.#wake();
  }

  /** Takes the output that has arrived; bytes that were dropped are counted, not an error. */
  takeAll(): { chunks: readonly OutputChunk[]; droppedBytes: number } {
    this.#refuseSecondReader();
    const chunks = this.#chunks.slice(this.#first);
    const droppedBytes = this.#dropped?.bytes ?? 0;
    this.#chunks = [];
    this.#first = 0;
    this.#bytes = 0;
    this.#dropped = undefined;
    return { chunks, droppedBytes };
  }

  /** Resolves when output arrives or ends. */
  async change(options: { timeoutMs?: number; signal?: AbortSignal | undefined }): Promise<void> {
    this.#waiting++;
    this.#onWanted();
    try {
      await this.#changes.next(options);
    } finally {
      this.#waiting--;
    }
  }

  [Symbol.asyncIterator](): AsyncGenerator<OutputChunk, void, void> {
    return this.read();
  }

  /** All output from here to the end of the process; one reader at a time. */
  read(signal?: AbortSignal): AsyncGenerator<OutputChunk, void, void> {
    this.#refuseSecondReader();
    this.#isRead = true;
    return this.#read(signal);
  }

  async *#read(signal: AbortSignal | undefined): AsyncGenerator<OutputChunk, void, void> {
    try {
      for (;;) {
        signal?.throwIfAborted();
        this.#reportDropped();
        const chunk = this.#take();
        if (chunk) yield chunk;
        else if (this.#end?.failure) throw this.#end.failure;
        else if (this.#end) return;
        else await this.change({ signal });
      }
    } finally {
      this.#isRead = false;
      while (this.#bytes > UNREAD_BYTES) this.#drop();
      this.#wake();
    }
  }

  #take(): OutputChunk | undefined {
    const chunk = this.#chunks[this.#first];
    if (!chunk) return undefined;
    this.#bytes -= chunk.bytes.length;
    if (++this.#first > 1024 && this.#first * 2 > this.#chunks.length) {
      this.#chunks = this.#chunks.slice(this.#first);
      this.#first = 0;
    }
    if (!this.#isFull()) this.#waits.changes.notify();
    if (this.isWanted) this.#onWanted();
    return chunk;
  }

  #drop(): void {
    const { seq, bytes } = this.#take()!;
    this.#dropped = { from: this.#dropped?.from ?? seq, to: seq, bytes: (this.#dropped?.bytes ?? 0) + bytes.length };
  }

  #reportDropped(): void {
    const dropped = this.#dropped;
    if (!dropped) return;
    this.#dropped = undefined;
    throw new OutputGapError(this.#processId, dropped);
  }

  #refuseSecondReader(): void {
    if (this.#isRead) throw new Error(`the output of process ${this.#processId} is already being read`);
  }

  #isFull(): boolean {
    return this.#isRead && !this.#end && this.#bytes > (this.#waits.isAnyPending ? MOST_BYTES : READ_BYTES);
  }

  async #roomAgain(): Promise<void> {
    while (this.#isFull()) await this.#waits.changes.next();
  }

  #wake(): void {
    this.#changes.notify();
    this.#waits.changes.notify();
  }
}

/** Bytes kept while there is no reader. */
const UNREAD_BYTES = 4 * 1024 * 1024;
/** How far a reader may fall behind before the connection waits for it. */
const READ_BYTES = 1024 * 1024;
/** The same while a caller waits for an answer on the connection, perhaps the reader itself. */
const MOST_BYTES = 64 * 1024 * 1024;
/** How far output is fetched ahead of a reader, where it is fetched: enough for a round trip. */
const AHEAD_BYTES = 512 * 1024;
