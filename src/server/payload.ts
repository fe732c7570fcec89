import { release } from '../host/os/index.ts';

/** What was to be written has been decoded for this alone: its memory goes back when it is done. */
export function using<T>(payload: Uint8Array, result: T | Promise<T>): T | Promise<T> {
  if (result instanceof Promise) return result.finally(() => release(payload));
  release(payload);
  return result;
}
