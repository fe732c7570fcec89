import { posix } from 'node:path';

/** Read-only directly below every writable root, whether they exist or not: other programs execute what they say. */
export const PROTECTED_NAMES = ['.git', '.agents', '.codex', '.aws'] as const;

export const isProtectedName = (path: string): boolean =>
  (PROTECTED_NAMES as readonly string[]).includes(posix.basename(path));
