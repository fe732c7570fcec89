import type { Notice, ReadResult } from './tracked-process.ts';
import type { WireClient } from './wire-client.ts';

/** Catches up with a process after a resume as a client should: reads what it missed, then goes on with what is pushed. */
export class Recovery {
  /** Numbers after which the server said that output is gone. */
  readonly gaps: number[] = [];
  readonly #client: WireClient;
  readonly #processId: string;
  readonly #chunks = new Map<number, { stream: string; bytes: Buffer }>();
  readonly #pushed: ReturnType<WireClient['track']>;
  #afterSeq: number;

  constructor(client: WireClient, processId: string, afterSeq: number) {
    this.#client = client;
    this.#processId = processId;
    this.#afterSeq = afterSeq;
    this.#pushed = client.track(processId);
  }

  /** Resolves when the process has closed and everything it printed is here. */
  async finish(): Promise<void> {
    for (;;) {
      const read = await this.#client.call<ReadResult>('process/read', {
        processId: this.#processId,
        afterSeq: this.#afterSeq,
      });
      if (read.truncated) this.gaps.push(this.#afterSeq);
      for (const { seq, stream, chunk } of read.chunks) this.#keep(seq, stream, chunk);
      this.#afterSeq = Math.max(this.#afterSeq, read.nextSeq - 1);
      if (read.closed) return;
      const first = this.#pushed.notices.find(({ params }) => params.seq === this.#afterSeq + 1);
      if (first || !this.#pushed.notices.some(({ params }) => params.seq > this.#afterSeq)) break;
    }
    await this.#pushed.closed();
    for (const { params } of this.#pushed.notices as Notice[]) {
      if ('chunk' in params) this.#keep(params.seq, params.stream as string, params.chunk as string);
    }
  }

  bytes(stream?: string): Buffer {
    const inOrder = [...this.#chunks.entries()].sort(([one], [other]) => one - other);
    return Buffer.concat(
      inOrder.filter(([, chunk]) => !stream || chunk.stream === stream).map(([, chunk]) => chunk.bytes),
    );
  }

  #keep(seq: number, stream: string, chunk: string): void {
    this.#chunks.set(seq, { stream, bytes: Buffer.from(chunk, 'base64') });
  }
}
