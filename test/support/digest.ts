import { createHash } from 'node:crypto';

export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** What `seq 1 n` prints. */
export function numbersTo(n: number): Buffer {
  return Buffer.from(Array.from({ length: n }, (_, at) => `${at + 1}\n`).join(''));
}
