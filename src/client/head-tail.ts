import { concatBytes } from '../base/index.ts';

/** Keeps the first and the last half of a limit of whatever passes, and counts what fell out between them. */
export class HeadTail {
  readonly #headLimit: number;
  readonly #tailLimit: number;
  #head: Uint8Array[] = [];
  #headBytes = 0;
  #tail: Uint8Array[] = [];
  #tailBytes = 0;
  #omittedBytes = 0;

  constructor(limitBytes: number) {
    this.#headLimit = Math.ceil(limitBytes / 2);
    this.#tailLimit = Math.floor(limitBytes / 2);
  }

  get omittedBytes(): number {
    return this.#omittedBytes;
  }

  get bytes(): Uint8Array {
    return concatBytes([...this.#head, ...this.#tail]);
  }

  add(bytes: Uint8Array): void {
    const room = this.#headLimit - this.#headBytes;
    if (room > 0) {
      this.#head.push(bytes.subarray(0, room));
      this.#headBytes += Math.min(room, bytes.length);
    }
    if (bytes.length > room) this.#addToTail(bytes.subarray(room));
  }

  /** Counts bytes that were lost before they came here. */
  omit(bytes: number): void {
    this.#omittedBytes += bytes;
  }

  #addToTail(bytes: Uint8Array): void {
    this.#tail.push(bytes);
    this.#tailBytes += bytes.length;
    while (this.#tailBytes > this.#tailLimit) {
      const excess = Math.min(this.#tailBytes - this.#tailLimit, this.#tail[0]!.length);
      this.#tail[0] = this.#tail[0]!.subarray(excess);
      if (this.#tail[0].length === 0) this.#tail.shift();
      this.#tailBytes -= excess;
      this.#omittedBytes += excess;
    }
  }
}
