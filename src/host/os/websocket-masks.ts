// Replaces the optional package `bufferutil`, with which `ws` masks in native code: the bundled command line resolves it to this
// file. In JavaScript, unmasking takes most of the time of a large write.
import { addon } from './addon.ts';

export function mask(source: Uint8Array, key: Uint8Array, target: Uint8Array, offset: number, length: number): void {
  addon().mask(source, key, target, offset, length);
}

export function unmask(bytes: Uint8Array, key: Uint8Array): void {
  addon().unmask(bytes, key);
}
