import type { Result } from '../protocol/index.ts';
import { OutputGapError } from './errors.ts';
import type { FeedObserver } from './event-feed.ts';
import type { ProcessEvent } from './process-event.ts';
import type { ProcessFollower } from './process-feed.ts';

type Answer = Result<'process/read'>;

export interface PulledFeedOptions {
  readonly processId: string;
  readonly read: (afterSeq: number, limits: { maxBytes: number; waitMs: number }) => Promise<Answer>;
  /** Whether the reader of the output can take more. */
  readonly hasRoom: () => boolean;
  readonly observer: FeedObserver<ProcessEvent> & { outputEnded(): void };
}

/**
 * Follows a process whose output the server keeps until it is read. The exit is known at once, also before output that was printed
 * earlier is read.
 */
export class PulledFeed implements ProcessFollower {
  readonly #options: PulledFeedOptions;
  #phase: 'running' | 'exited' | 'closed' = 'running';
  /** The last output that was read. */
  #readSeq = 0;
  #isReading = false;
  #isOver = false;

  constructor(options: PulledFeedOptions) {
    this.#options = options;
  }

  receive(event: ProcessEvent): void {
    if (event.type === 'output') return; // of a server that sends it all the same; it is read as well
    this.#advance(event);
  }

  /** Learns of an end that was announced while there was no connection. */
  async catchUp(): Promise<void> {
    try {
      this.#learn(await this.#options.read(this.#readSeq, { maxBytes: 1, waitMs: 0 }));
    } catch (failure) {
      this.#fail(failure as Error);
    }
  }

  /** To be called when the reader of the output waits for more, or could take more. */
  want(): void {
    if (this.#isReading || this.#isOver) return;
    this.#isReading = true;
    void this.#readOn().finally(() => {
      this.#isReading = false;
    });
  }

  /** Ends the reading: the process can no longer be followed. */
  stop(): void {
    this.#isOver = true;
  }

  async #readOn(): Promise<void> {
    try {
      while (!this.#isOver && this.#options.hasRoom()) this.#take(await this.#options.read(this.#readSeq, PIECE));
    } catch (failure) {
      this.#fail(failure as Error);
    }
  }

  #take(answer: Answer): void {
    const { processId, observer } = this.#options;
    const { chunks, truncated, nextSeq, closed } = answer;
    if (this.#isOver) return;
    if (truncated) {
      throw new OutputGapError(processId, { from: this.#readSeq + 1, to: (chunks[0]?.seq ?? nextSeq) - 1 });
    }
    for (const { seq, stream, chunk } of chunks) {
      this.#readSeq = seq;
      observer.event({ type: 'output', seq, stream, bytes: chunk });
    }
    this.#learn(answer);
    if (!closed || chunks.length > 0) return;
    this.#isOver = true;
    observer.outputEnded();
  }

  /** An answer tells of an exit too, though not its number, which counts only among events that are sent. */
  #learn({ exited, exitCode, closed, sandboxDenied, denials, ...ending }: Answer): void {
    const { signal, timedOut, limitExceeded } = ending;
    if (exited) {
      const facts = { sandboxDenied, denials, signal, timedOut, limitExceeded };
      this.#advance({ type: 'exited', seq: 0, exitCode: exitCode ?? -1, ...facts });
    }
    if (closed) this.#advance({ type: 'closed', seq: 0 });
  }

  #advance(event: ProcessEvent): void {
    if (event.type === 'output') return;
    const before = event.type === 'exited' ? 'running' : 'exited';
    if (this.#phase !== before) return; // known already
    this.#phase = event.type;
    this.#options.observer.event(event);
  }

  #fail(failure: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.observer.failed(failure);
  }
}

/** Large enough to keep a fast reader busy during a round trip; the wait is repeated while the reader wants more. */
const PIECE = { maxBytes: 256 * 1024, waitMs: 20_000 };
