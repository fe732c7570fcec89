import { ByteRing } from './byte-ring.ts';
import { concatBytes } from './bytes.ts';

/** Keeps the first and the last bytes of a stream, each up to half of a limit. The bytes between them are counted, not kept. */
export class HeadTail {
  readonly #headLimit: number;
  readonly #head: ByteRing;
  readonly #tail: ByteRing;
  #omittedBytes = 0;

  constructor(limitBytes: number) {
    this.#headLimit = Math.ceil(limitBytes / 2);
    this.#head = new ByteRing(this.#headLimit);
    this.#tail = new ByteRing(Math.floor(limitBytes / 2));
  }

  get head(): Uint8Array {
    return this.#head.bytes;
  }

  get tail(): Uint8Array {
    return this.#tail.bytes;
  }

  /** All bytes that are kept. */
  get bytes(): Uint8Array {
    return concatBytes([this.head, this.tail]);
  }

  get omittedBytes(): number {
    return this.#omittedBytes;
  }

  get totalBytes(): number {
    return this.#head.length + this.#omittedBytes + this.#tail.length;
  }

  add(bytes: Uint8Array): void {
    const room = this.#headLimit - this.#head.length;
    if (room > 0) this.#head.push(bytes.subarray(0, room));
    if (bytes.length > room) this.#omittedBytes += this.#tail.push(bytes.subarray(room));
  }

  /** Counts bytes that were lost before they could be added. */
  omit(bytes: number): void {
    this.#omittedBytes += bytes;
  }

  /** Adds the bytes of a later buffer with the same limit. If that one has omitted bytes, both its halves are full, so no others are lost. */
  merge(later: HeadTail): void {
    this.add(later.head);
    this.omit(later.omittedBytes);
    this.add(later.tail);
  }
}
