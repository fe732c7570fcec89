const equalsSign = 0x3d;

/** Sees every chunk where it lies in its frame, still base64; `offset` counts the process's output bytes before it. */
export type ChunkObserver = (frame: Buffer, start: number, end: number, offset: number) => void;

export interface ProcessEvent {
  processId: string;
  seq: number;
  exitCode?: number;
}

/** How many bytes a base64 range stands for. */
export function decodedLength(frame: Buffer, start: number, end: number): number {
  const padding = frame[end - 1] !== equalsSign ? 0 : frame[end - 2] !== equalsSign ? 1 : 2;
  return end === start ? 0 : ((end - start) / 4) * 3 - padding;
}

export function decodeChunk(frame: Buffer, start: number, end: number): Buffer {
  return Buffer.from(frame.toString('latin1', start, end), 'base64');
}

/** A process started by the benchmark: when each thing happened to it, and how much it printed. */
export class TrackedProcess {
  readonly id: string;
  readonly startedAt = performance.now();
  readonly response: Promise<void>;
  readonly exited: Promise<void>;
  readonly closed: Promise<void>;
  respondedAt = 0;
  firstByteAt = 0;
  exitedAt = 0;
  closedAt = 0;
  bytes = 0;
  lastSeq = 0;
  exitCode: number | undefined;
  /** Events that arrived after one with a higher seq. In the reference server, `exited` and `closed` run ahead at times. */
  overtaken = 0;

  readonly #observe: ChunkObserver | undefined;
  #eventsSeen = 0;
  #awaitedBytes = Number.POSITIVE_INFINITY;
  #resolveReceived = (): void => {};
  #resolveExited = (): void => {};
  #resolveClosed = (): void => {};
  #reject: ((error: Error) => void)[] = [];

  constructor(id: string, respond: () => Promise<unknown>, observe?: ChunkObserver) {
    this.id = id;
    this.#observe = observe;
    this.exited = this.#event((resolve) => {
      this.#resolveExited = resolve;
    });
    this.closed = this.#event((resolve) => {
      this.#resolveClosed = resolve;
    });
    this.response = respond().then(() => {
      this.respondedAt = performance.now();
    });
    this.response.catch((error: Error) => this.fail(error));
  }

  /** Exited and closed: the reference server announces the two in either order. */
  async ended(): Promise<void> {
    await Promise.all([this.exited, this.closed]);
  }

  /** Sequence numbers that never arrived; counted, because events may overtake each other. */
  get missingEvents(): number {
    return this.lastSeq - this.#eventsSeen;
  }

  /** Resolves when the process has printed this many bytes in total. One wait at a time. */
  received(bytes: number): Promise<void> {
    if (this.bytes >= bytes) return Promise.resolve();
    this.#awaitedBytes = bytes;
    return this.#event((resolve) => {
      this.#resolveReceived = resolve;
    });
  }

  onOutput(frame: Buffer, start: number, end: number, seq: number): void {
    if (this.firstByteAt === 0) this.firstByteAt = performance.now();
    this.#see(seq);
    const offset = this.bytes;
    this.bytes += decodedLength(frame, start, end);
    this.#observe?.(frame, start, end, offset);
    if (this.bytes < this.#awaitedBytes) return;
    this.#awaitedBytes = Number.POSITIVE_INFINITY;
    this.#resolveReceived();
  }

  onExited(event: ProcessEvent): void {
    this.exitedAt = performance.now();
    this.#see(event.seq);
    this.exitCode = event.exitCode;
    this.#resolveExited();
  }

  onClosed(event: ProcessEvent): void {
    this.closedAt = performance.now();
    this.#see(event.seq);
    this.#resolveClosed();
  }

  fail(error: Error): void {
    for (const reject of this.#reject) reject(error);
  }

  #see(seq: number): void {
    this.#eventsSeen++;
    if (seq < this.lastSeq) this.overtaken++;
    else this.lastSeq = seq;
  }

  /** Nobody may be waiting for the event yet when the process fails; that alone must not end the benchmark. */
  #event(hold: (resolve: () => void) => void): Promise<void> {
    const promise = new Promise<void>((resolve, reject) => {
      hold(resolve);
      this.#reject.push(reject);
    });
    promise.catch(() => {});
    return promise;
  }
}
