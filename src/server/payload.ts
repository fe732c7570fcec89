import { release } from '../host/os/index.ts';

/** Releases the memory of a decoded payload when the request that used it has settled. */
export function releaseAfter<T>(payload: Uint8Array, result: T | Promise<T>): T | Promise<T> {
  if (result instanceof Promise) return result.finally(() => release(payload));
  release(payload);
  return result;
}
