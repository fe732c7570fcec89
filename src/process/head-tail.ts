import { concatBytes, decodeBase64, decodeLatin1 } from '../base/index.ts';
import type { OutputChunk } from '../os/index.ts';

/** The first and the last half of a limit of one stream; what lies between is counted, not kept. */
export class HeadTail {
  readonly #half: number;
  readonly #onDropped: (chunk: OutputChunk) => void;
  readonly #head: OutputChunk[] = [];
  #headBytes = 0;
  #tail: OutputChunk[] = [];
  #tailBytes = 0;
  #totalBytes = 0;

  constructor(limitBytes: number, onDropped: (chunk: OutputChunk) => void = () => {}) {
    this.#half = Math.floor(limitBytes / 2);
    this.#onDropped = onDropped;
  }

  add(chunk: OutputChunk): void {
    this.#totalBytes += chunk.byteLength;
    if (this.#headBytes < this.#half) {
      this.#head.push(chunk);
      this.#headBytes += chunk.byteLength;
      if (this.#headBytes <= this.#half) return;
    }
    // A chunk that crosses the middle is in both halves; `snapshot` cuts it.
    this.#tail.push(chunk);
    this.#tailBytes += chunk.byteLength;
    while (this.#tail.length > 1 && this.#tailBytes - this.#tail[0]!.byteLength >= this.#half) this.#dropOldest();
  }

  #dropOldest(): void {
    const oldest = this.#tail.shift()!;
    this.#tailBytes -= oldest.byteLength;
    if (oldest !== this.#head.at(-1)) this.#onDropped(oldest);
  }

  snapshot(): { bytes: Uint8Array; omittedBytes: number } {
    const head = concatBytes(this.#head.map(rawBytes)).subarray(0, this.#half);
    const afterHead = this.#totalBytes - head.length;
    const tailBytes = Math.min(this.#half, afterHead);
    const tail = tailBytes === 0 ? new Uint8Array(0) : concatBytes(this.#tail.map(rawBytes)).subarray(-tailBytes);
    return { bytes: concatBytes([head, tail]), omittedBytes: afterHead - tailBytes };
  }
}

function rawBytes({ buffer, start, end }: OutputChunk): Uint8Array {
  return decodeBase64(decodeLatin1(buffer, start, end));
}
