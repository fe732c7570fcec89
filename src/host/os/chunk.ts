import { addon } from './addon.ts';

/** Free bytes before the base64 text of a chunk: room for the head of a JSON message. */
export const HEADROOM = 192;

/** Free bytes after the base64 text of a chunk: room for the closing braces. */
export const TAILROOM = 8;

/** A chunk of output as the addon makes it: base64 text inside `buffer`, with room before and after it. */
export interface EncodedChunk {
  readonly buffer: Buffer;
  /** The position of the text in `buffer`. */
  readonly start: number;
  readonly end: number;
  /** The number of bytes before base64. */
  readonly byteLength: number;
}

/** The chunk in a buffer that the addon delivers. */
export function outputChunk(buffer: Buffer, byteLength: number): EncodedChunk {
  return { buffer, start: HEADROOM, end: HEADROOM + Math.ceil(byteLength / 3) * 4, byteLength };
}

/**
 * Frees the memory of a chunk at once: left to the garbage collector, a flood of output keeps some 64 MiB. The buffer is empty
 * afterwards, so it must not be in use any more, not even by a socket that still has to send it.
 */
export function releaseChunk(chunk: EncodedChunk): void {
  addon().release(chunk.buffer.buffer);
}
