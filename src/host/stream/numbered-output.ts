import type { Changes } from '../../base/index.ts';
import { limits } from '../../protocol/index.ts';
import type { EncodedChunk, OutputStream } from '../os/index.ts';
import { ChunkKeepers } from './chunk-keepers.ts';
import type { ClientAudience } from './client-audience.ts';
import type { OutputFrames } from './output-frames.ts';
import { type NumberedChunk, RetainedOutput } from './retained-output.ts';

export interface NumberedOutputOptions {
  readonly audience: ClientAudience;
  /** Without them no output is sent: the client reads it. */
  readonly frames?: OutputFrames | undefined;
  readonly retainedBytes: number;
  /** Notified when output arrives or makes room. */
  readonly changes: Changes;
  /** What shows that the client has a chunk: that it was received, or only a call of `settle`. */
  readonly settledBy: 'delivery' | 'client';
}

/** What `NumberedOutput.read` gives. */
export interface RetainedPart<S> {
  readonly chunks: readonly NumberedChunk<S>[];
  /** The number after the last one that this part accounts for. */
  readonly nextSeq: number;
  readonly truncated: boolean;
  readonly oldestSeq: number;
  /** Must be called when the client has received the chunks. */
  readonly delivered: () => void;
}

/**
 * The events of one process or connection on the way to the client: numbered from 1, and sent as there is room. Output is kept
 * until the client has it, and a sender whose output is not fetched waits.
 */
export class NumberedOutput<S extends OutputStream | undefined = OutputStream> {
  readonly #options: NumberedOutputOptions;
  readonly #retained: RetainedOutput<S>;
  readonly #keepers = new ChunkKeepers();
  #nextSeq = 1;
  #isDropped = false;

  constructor(options: NumberedOutputOptions) {
    this.#options = options;
    const limit = { bytes: options.retainedBytes, chunks: limits.retainedChunks };
    this.#retained = new RetainedOutput(limit, (chunk) => this.drop(chunk));
  }

  get nextSeq(): number {
    return this.#nextSeq;
  }

  get retainedBytes(): number {
    return this.#retained.bytes;
  }

  /** The number of an event that is not output. */
  takeNumber(): number {
    return this.#nextSeq++;
  }

  /** Waits for room, then numbers the chunk and sends it. Another keeper gets it too, and must call `drop` when it is done with it. */
  async publish(stream: S, chunk: EncodedChunk, keeper?: (chunk: EncodedChunk) => void): Promise<void> {
    const { audience, frames, changes, settledBy } = this.#options;
    while (!this.#retained.hasRoom(chunk.byteLength) && !this.#isDropped) {
      if (settledBy === 'delivery') audience.probe();
      await changes.next();
    }
    const numbered = { seq: this.#nextSeq++, stream, chunk };
    this.#keepers.keep(chunk, (frames ? 2 : 1) + (keeper ? 1 : 0)); // for the message to the client and the retained output
    this.#retained.add(numbered);
    keeper?.(chunk);
    changes.notify();
    if (!frames) return;
    await audience.send(frames.notification(numbered), () => {
      if (settledBy === 'delivery' && this.#retained.deliver(numbered.seq)) changes.notify();
      this.#keepers.drop(chunk);
    });
  }

  drop(chunk: EncodedChunk): void {
    this.#keepers.drop(chunk);
  }

  /** Notes that the client has every event up to this number. */
  settle(seq: number): void {
    if (this.#retained.settle(seq)) this.#options.changes.notify();
  }

  /** Whether there is output that only a call of `settle` lets go. */
  get waitsForClient(): boolean {
    return this.#options.settledBy === 'client' && this.#retained.hasUnsettled;
  }

  hasAfter(seq: number): boolean {
    return this.#retained.hasAfter(seq);
  }

  /** All output that is retained. */
  all(): readonly NumberedChunk<S>[] {
    return this.#retained.after(0);
  }

  /** Retained output after a number, within a limit of bytes. */
  read(afterSeq: number, maxBytes: number | undefined): RetainedPart<S> {
    const chunks = this.#retained.after(afterSeq, maxBytes);
    const lastSeq = chunks.at(-1)?.seq ?? afterSeq;
    for (const { chunk } of chunks) this.#keepers.keep(chunk);
    return {
      chunks,
      nextSeq: maxBytes !== undefined && chunks.length > 0 ? lastSeq + 1 : this.#nextSeq,
      truncated: this.#retained.evictedSeq > afterSeq,
      oldestSeq: this.#retained.oldestSeq ?? this.#nextSeq,
      delivered: () => {
        if (this.#options.settledBy === 'delivery') this.settle(lastSeq);
        for (const { chunk } of chunks) this.#keepers.drop(chunk);
      },
    };
  }

  /** Ends the waiting for room: what is still published is for no reader. */
  endWaiting(): void {
    this.#isDropped = true;
    this.#options.changes.notify();
  }
}
