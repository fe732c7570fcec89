import { posix } from 'node:path';

/** Stay read-only directly under every writable root, there or not: other programs act upon their contents. */
export const PROTECTED_NAMES = ['.git', '.agents', '.codex', '.aws'] as const;

export const isProtectedName = (path: string): boolean =>
  (PROTECTED_NAMES as readonly string[]).includes(posix.basename(path));
