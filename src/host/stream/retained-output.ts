import type { EncodedChunk, OutputStream } from '../os/index.ts';

/** Output with its number. `S` says which of several streams it came from. */
export interface NumberedChunk<S = OutputStream> {
  readonly seq: number;
  readonly stream: S;
  readonly chunk: EncodedChunk;
}

export interface RetainedOutputLimits {
  readonly bytes: number;
  readonly chunks: number;
}

/**
 * The newest output of a process or connection, within limits. Old chunks make room for new ones, but only once the client
 * has them: a chunk above `settledSeq` stays, and the sender waits for room instead.
 */
export class RetainedOutput<S = OutputStream> {
  readonly #limits: RetainedOutputLimits;
  readonly #onEvicted: (chunk: EncodedChunk) => void;
  #chunks: NumberedChunk<S>[] = [];
  #first = 0; // position of the oldest chunk; the positions before it are cut off now and then
  #bytes = 0;
  #unsettledBytes = 0;
  #unsettledFrom = 0; // position of the first unsettled chunk
  readonly #delivered = new Set<number>(); // unsettled chunks that the client has received, though not one before them
  #evictedSeq = 0;

  constructor(limits: RetainedOutputLimits, onEvicted: (chunk: EncodedChunk) => void = () => {}) {
    this.#limits = limits;
    this.#onEvicted = onEvicted;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The number of the newest chunk that was evicted, 0 if none was. */
  get evictedSeq(): number {
    return this.#evictedSeq;
  }

  get oldestSeq(): number | undefined {
    return this.#chunks[this.#first]?.seq;
  }

  /** Whether there is a chunk that the client has not received. */
  get hasUnsettled(): boolean {
    return this.#chunks.length > this.#unsettledFrom;
  }

  /** Whether a chunk of this size fits without evicting one that the client has not received. */
  hasRoom(byteLength: number): boolean {
    const unsettledChunks = this.#chunks.length - this.#unsettledFrom;
    if (unsettledChunks === 0) return true;
    return this.#unsettledBytes + byteLength <= this.#limits.bytes && unsettledChunks < this.#limits.chunks;
  }

  add(retained: NumberedChunk<S>): void {
    this.#chunks.push(retained);
    this.#bytes += retained.chunk.byteLength;
    this.#unsettledBytes += retained.chunk.byteLength;
    while (this.#overfull()) this.#evictOldest();
    if (this.#first > 1024 && this.#first > this.#chunks.length / 2) this.#compact();
  }

  /** Notes that the client has received this chunk; it stays unsettled as long as one before it. Returns whether any was settled. */
  deliver(seq: number): boolean {
    const next = this.#chunks[this.#unsettledFrom];
    if (!next || seq < next.seq) return false;
    this.#delivered.add(seq);
    return this.settle(0);
  }

  /** Notes that the client has received everything up to this number. Returns whether any chunk was settled. */
  settle(seq: number): boolean {
    const before = this.#unsettledFrom;
    for (let next = this.#chunks[before]; next; next = this.#chunks[this.#unsettledFrom]) {
      const delivered = this.#delivered.delete(next.seq);
      if (!delivered && next.seq > seq) break;
      this.#unsettledBytes -= next.chunk.byteLength;
      this.#unsettledFrom++;
    }
    return this.#unsettledFrom > before;
  }

  /** Chunks after a number: at least one if there is any, then as many as fit in `maxBytes`. */
  after(seq: number, maxBytes = Number.POSITIVE_INFINITY): NumberedChunk<S>[] {
    const start = this.#positionAfter(seq);
    if (maxBytes === Number.POSITIVE_INFINITY) return this.#chunks.slice(start);
    const selected: NumberedChunk<S>[] = [];
    let total = 0;
    for (let at = start; at < this.#chunks.length; at++) {
      const candidate = this.#chunks[at]!;
      total += candidate.chunk.byteLength;
      if (selected.length > 0 && total > maxBytes) break;
      selected.push(candidate);
      if (total >= maxBytes) break;
    }
    return selected;
  }

  hasAfter(seq: number): boolean {
    return this.#positionAfter(seq) < this.#chunks.length;
  }

  /** Binary search: numbers grow, with holes where exit and close took one. */
  #positionAfter(seq: number): number {
    let low = this.#first;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#chunks[middle]!.seq <= seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #overfull(): boolean {
    const chunks = this.#chunks.length - this.#first;
    return (this.#bytes > this.#limits.bytes || chunks > this.#limits.chunks) && this.#first < this.#unsettledFrom;
  }

  #evictOldest(): void {
    const oldest = this.#chunks[this.#first]!;
    this.#chunks[this.#first++] = evicted;
    this.#bytes -= oldest.chunk.byteLength;
    this.#evictedSeq = oldest.seq;
    this.#onEvicted(oldest.chunk);
  }

  #compact(): void {
    this.#chunks = this.#chunks.slice(this.#first);
    this.#unsettledFrom -= this.#first;
    this.#first = 0;
  }
}

/** Replaces an evicted chunk in the array, so that its memory is freed before its position is cut off. */
const evicted: NumberedChunk<never> = {
  seq: 0,
  stream: undefined as never,
  chunk: { buffer: Buffer.alloc(0), start: 0, end: 0, byteLength: 0 },
};
