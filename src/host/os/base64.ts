import { addon } from './addon.ts';

/** Decodes strict base64 from a part of a buffer, several times faster than through a string. */
export function decodeBase64Part(text: Uint8Array, start: number, end: number): Uint8Array {
  const bytes = addon().decodeBase64(text, start, end);
  if (!bytes) throw new Error('not base64');
  return bytes;
}
