import { type EncodedChunk, releaseChunk } from '../os/index.ts';

/**
 * Counts the references to a chunk, and frees its memory with the last of them. The garbage collector would free it
 * too, but late: it sees a small object, not the memory behind it, and a flood of output would fill hundreds of megabytes.
 */
export class ChunkKeepers {
  readonly #keepers = new WeakMap<EncodedChunk, number>();

  keep(chunk: EncodedChunk, keepers = 1): void {
    this.#keepers.set(chunk, (this.#keepers.get(chunk) ?? 0) + keepers);
  }

  /** Without the last call, as for a message on a lost connection, the chunk is left to the garbage collector. */
  drop(chunk: EncodedChunk): void {
    const left = (this.#keepers.get(chunk) ?? 0) - 1;
    if (left > 0) {
      this.#keepers.set(chunk, left);
      return;
    }
    this.#keepers.delete(chunk);
    if (chunk.byteLength >= WORTH_RELEASING) releaseChunk(chunk);
  }
}

/** The garbage collector counts the memory of smaller chunks. */
const WORTH_RELEASING = 16 * 1024;
