import { type OutputChunk, releaseChunk } from '../os/index.ts';

/**
 * Counts the users of a chunk and gives its memory back with the last of them. The garbage collector would do it
 * too, but late: it sees a small object, not the memory behind it, and a flood would fill hundreds of megabytes.
 */
export class ChunkKeepers {
  readonly #keepers = new WeakMap<OutputChunk, number>();

  keep(chunk: OutputChunk, keepers = 1): void {
    this.#keepers.set(chunk, (this.#keepers.get(chunk) ?? 0) + keepers);
  }

  /** A keeper that never lets go, such as a message on a lost connection, leaves the chunk to the collector. */
  drop(chunk: OutputChunk): void {
    const left = (this.#keepers.get(chunk) ?? 0) - 1;
    if (left > 0) {
      this.#keepers.set(chunk, left);
      return;
    }
    this.#keepers.delete(chunk);
    if (chunk.byteLength >= WORTH_RELEASING) releaseChunk(chunk);
  }
}

/** Small chunks live in memory the collector does see. */
const WORTH_RELEASING = 16 * 1024;
