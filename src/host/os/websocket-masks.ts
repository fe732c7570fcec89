// The `ws` package looks for a module with these two functions to do its masking in native code; the bundled command
// line gets this one. In JavaScript, unmasking takes most of the time of a large write.
import { addon } from './addon.ts';

export function mask(source: Uint8Array, key: Uint8Array, target: Uint8Array, offset: number, length: number): void {
  addon().mask(source, key, target, offset, length);
}

export function unmask(bytes: Uint8Array, key: Uint8Array): void {
  addon().unmask(bytes, key);
}
