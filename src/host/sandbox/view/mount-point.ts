import {
  close,
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  rmdirSync,
  type Stats,
  unlinkSync,
} from 'node:fs';
import { lock, pathBytes } from '../../os/index.ts';
import { entryAt } from './disk.ts';

/** Differs between a file and another one that replaces it at once and gets the same inode number. */
export const identityOf = ({ dev, ino, birthtimeMs }: Stats): string => `${dev}:${ino}:${birthtimeMs}`;

/**
 * Makes a mount point where it is missing, and keeps other servers from removing it while a sandbox has something mounted there:
 * the kernel would unmount it in the sandbox. Gives the locked descriptor, for `unlockMountPoint`; undefined where no file can be
 * made or opened, which bubblewrap will complain about.
 */
export function lockMountPoint(path: string, kind: 'directory' | 'file', isMissing: boolean): number | undefined {
  let missing = isMissing;
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    if (missing) make(path, kind);
    const descriptor = open(path);
    if (descriptor === undefined) return undefined;
    if (lock(descriptor, 'shared') && isAt(path, descriptor)) return descriptor;
    closeSync(descriptor); // another server is removing it
    missing = entryAt(path) === undefined;
  }
  return undefined;
}

function isAt(path: string, fd: number): boolean {
  const found = entryAt(path);
  return found !== undefined && isOpen(found, fd);
}

const isOpen = (found: Stats, fd: number): boolean => identityOf(found) === identityOf(fstatSync(fd));

/** Lets other servers remove a mount point again. */
export function unlockMountPoint(locked: number | undefined): void {
  if (locked !== undefined) closeSync(locked);
}

/**
 * Removes a mount point if it is empty, and closes the descriptor that `lockMountPoint` gave for it. False when it has to be tried
 * again: another server's sandbox uses it, or the directory around it may not be written. A file with contents, or another one
 * in its place, belongs to a user and stays.
 */
export function removeMountPoint(path: string, found: Stats, locked?: number): boolean {
  // On a disk, freeing the blocks of a directory takes thirty times as long as removing its name. The kernel frees them when the
  // last descriptor is closed, which another thread does.
  const descriptor = locked !== undefined && isOpen(found, locked) ? locked : open(path);
  try {
    if (descriptor !== undefined && !lock(descriptor, 'alone')) return false;
    if (found.isDirectory()) rmdirSync(pathBytes(path));
    else if (found.isFile() && found.size === 0) unlinkSync(pathBytes(path));
  } catch (error) {
    return !isPermissionError(error);
  } finally {
    if (descriptor !== undefined) close(descriptor, () => {}); // nothing was written
    if (descriptor !== locked) unlockMountPoint(locked);
  }
  return true;
}

/** Whether a path cannot be removed because of the directory around it. */
function isPermissionError(error: unknown): boolean {
  return ['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '');
}

/** Makes a mount point as bubblewrap would. */
function make(path: string, kind: 'directory' | 'file'): void {
  const { O_CREAT, O_EXCL, O_WRONLY } = constants;
  try {
    if (kind === 'directory') mkdirSync(pathBytes(path), 0o755);
    else closeSync(openSync(pathBytes(path), O_CREAT | O_EXCL | O_WRONLY, 0o444));
  } catch {
    // it exists already, or cannot be made
  }
}

function open(path: string): number | undefined {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    return openSync(pathBytes(path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch {
    return undefined; // missing, not readable, or no descriptor is free
  }
}

/** Another server's removal takes a few microseconds. */
const MOST_ATTEMPTS = 100;
