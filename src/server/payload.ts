import { release } from '../host/os/index.ts';

/** Releases the memory of a decoded payload once its result is there. */
export function releaseAfter<T>(payload: Uint8Array, result: T | Promise<T>): T | Promise<T> {
  if (result instanceof Promise) return result.finally(() => release(payload));
  release(payload);
  return result;
}
