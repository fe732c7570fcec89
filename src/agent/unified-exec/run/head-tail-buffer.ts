import { concatBytes } from '../../../base/index.ts';
import { limits } from '../limits.ts';
import { lossyText } from '../report/lossy-text.ts';
import { ByteRing } from './byte-ring.ts';

/** The first and the last half of a limit of whatever passes; what lies between is counted. */
export class HeadTailBuffer {
  readonly #headLimit: number;
  readonly #head: ByteRing;
  readonly #tail: ByteRing;
  #omittedBytes = 0;

  constructor(limitBytes: number = limits.outputBytes) {
    const tailLimit = Math.floor(limitBytes / 2);
    this.#headLimit = limitBytes - tailLimit;
    this.#head = new ByteRing(this.#headLimit);
    this.#tail = new ByteRing(tailLimit);
  }

  get omittedBytes(): number {
    return this.#omittedBytes;
  }

  /** Everything that ever passed. */
  get totalBytes(): number {
    return this.#head.length + this.#omittedBytes + this.#tail.length;
  }

  /** What is kept, with a line in place of what is not. */
  get bytes(): Uint8Array {
    const marker = this.#omittedBytes > 0 ? [omissionMark(this.#omittedBytes)] : [];
    return concatBytes([this.#head.bytes, ...marker, this.#tail.bytes]);
  }

  get text(): string {
    return lossyText(this.bytes);
  }

  push(bytes: Uint8Array): void {
    const room = this.#headLimit - this.#head.length;
    if (room > 0) this.#head.push(bytes.subarray(0, room));
    if (bytes.length > room) this.#omittedBytes += this.#tail.push(bytes.subarray(room));
  }

  /** Counts bytes that were lost before they came here. */
  omit(bytes: number): void {
    this.#omittedBytes += bytes;
  }

  /** As if everything the later buffer has seen had been pushed here: where it omits, both its halves are full. */
  merge(later: HeadTailBuffer): void {
    this.push(later.#head.bytes);
    this.omit(later.#omittedBytes);
    this.push(later.#tail.bytes);
  }
}

/** How a text says that bytes are missing. */
export const omissionText = (bytes: number): string => `... ${bytes} bytes omitted ...`;

const omissionMark = (bytes: number): Uint8Array => Buffer.from(`\n${omissionText(bytes)}\n`);
