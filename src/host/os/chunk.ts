import { addon } from './addon.ts';

/** Free bytes before the base64 text of a chunk: room for the head of a JSON message. */
export const HEADROOM = 192;

/** Free bytes after the base64 text of a chunk: room for the closing braces. */
export const TAILROOM = 8;

/** A chunk as the reader thread leaves it: base64 text inside `buffer`, room before and after it. */
export interface OutputChunk {
  readonly buffer: Buffer;
  /** Where the text starts in `buffer`. */
  readonly start: number;
  readonly end: number;
  /** Bytes the process printed, before base64. */
  readonly byteLength: number;
}

/** Wraps what the addon delivers. */
export function outputChunk(buffer: Buffer, byteLength: number): OutputChunk {
  return { buffer, start: HEADROOM, end: HEADROOM + Math.ceil(byteLength / 3) * 4, byteLength };
}

/**
 * Frees the memory of a chunk at once: left to the garbage collector, a flood of output keeps some 64 MiB.
 * Its buffer is empty afterwards, so nothing may still be reading it, a socket that is being written to included.
 */
export function releaseChunk(chunk: OutputChunk): void {
  addon().release(chunk.buffer.buffer);
}
