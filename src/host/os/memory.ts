import { addon } from './addon.ts';

/** Gives back the memory of something large, left to the garbage collector otherwise; it must not be used afterwards. */
export function release(bytes: Uint8Array): void {
  const isWhole = bytes.byteLength === bytes.buffer.byteLength; // and not a piece of a shared pool
  if (isWhole && isWorthReleasing(bytes.byteLength)) addon().release(bytes.buffer as ArrayBuffer);
}

export const isWorthReleasing = (length: number): boolean => length >= 64 * 1024;
