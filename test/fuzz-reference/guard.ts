import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Step } from './sequence.ts';

/** Methods that change files, and the members that say which. */
const mutating: Readonly<Record<string, readonly string[]>> = {
  'fs/writeFile': ['path'],
  'fs/createDirectory': ['path'],
  'fs/remove': ['path'],
  'fs/copy': ['sourcePath', 'destinationPath'],
  'fs/open': ['path'],
};

/**
 * Whether a step changes nothing outside the scratch directory of its sequence, however a server reads it. The servers run
 * behind a read-only root besides.
 */
export function isGuarded(step: Step, scratch: string): boolean {
  const members = mutating[step.method ?? ''] ?? [];
  return members.every((name) => isInside(step.params?.[name], scratch));
}

function isInside(path: unknown, scratch: string): boolean {
  if (typeof path !== 'string' || !path.includes('/')) return true; // refused by every server
  if (!path.startsWith('file:///') || path.includes('%00')) return !path.startsWith('/');
  try {
    const readings = [fileURLToPath(path), posix.normalize(decodeURIComponent(path.slice('file://'.length)))];
    return readings.every((native) => native.startsWith(`${scratch}/`) && native.length > scratch.length + 1);
  } catch {
    return true; // no URI of a file of this machine
  }
}
