import { addon } from './addon.ts';

/** Frees the memory of large bytes at once; smaller ones are left to the garbage collector. They must not be used afterwards. */
export function release(bytes: Uint8Array): void {
  const isWhole = bytes.byteLength === bytes.buffer.byteLength; // not a part of a shared pool
  if (isWhole && isWorthReleasing(bytes.byteLength)) addon().release(bytes.buffer as ArrayBuffer);
}

export const isWorthReleasing = (length: number): boolean => length >= 64 * 1024;
