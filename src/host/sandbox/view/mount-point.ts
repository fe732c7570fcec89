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
import { look } from './disk.ts';

/** Tells a thing from one that has taken its place; numbers are used again, soon. */
export const identityOf = ({ dev, ino, birthtimeMs }: Stats): string => `${dev}:${ino}:${birthtimeMs}`;

/**
 * Makes a mount point where it is missing, and keeps servers from taking it away while a sandbox has something mounted there: the
 * kernel would unmount it in the sandbox. Gives the descriptor that does, to be closed afterwards; none where nothing can be
 * made or opened, which bubblewrap will complain about.
 */
export function keepMountPoint(path: string, kind: 'directory' | 'file', isMissing: boolean): number | undefined {
  let missing = isMissing;
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    if (missing) make(path, kind);
    const held = open(path);
    if (held === undefined) return undefined;
    if (lock(held, 'shared') && isAt(path, held)) return held;
    closeSync(held); // another server is taking it away
    missing = look(path) === undefined;
  }
  return undefined;
}

function isAt(path: string, fd: number): boolean {
  const found = look(path);
  return found !== undefined && isOpen(found, fd);
}

const isOpen = (found: Stats, fd: number): boolean => identityOf(found) === identityOf(fstatSync(fd));

/** Lets other servers take a mount point away again. */
export function releaseMountPoint(kept: number | undefined): void {
  if (kept !== undefined) closeSync(kept);
}

/**
 * Removes a mount point that is empty and that no other server's sandbox uses; false when that is not possible now. Anything else
 * belongs to others.
 * Releases the descriptor by which we kept it ourselves, if there is one.
 */
export function isRemoved(path: string, found: Stats, kept?: number): boolean {
  // On a disk, freeing what a directory occupied takes thirty times as long as removing its name. While it is open that is put
  // off; closing it is left to another thread.
  const held = kept !== undefined && isOpen(found, kept) ? kept : open(path);
  try {
    if (held !== undefined && !lock(held, 'alone')) return false;
    if (found.isDirectory()) rmdirSync(pathBytes(path));
    else if (found.isFile() && found.size === 0) unlinkSync(pathBytes(path));
  } catch (error) {
    return !isRefusal(error);
  } finally {
    if (held !== undefined) close(held, () => {}); // nothing was written
    if (held !== kept) releaseMountPoint(kept);
  }
  return true;
}

/** Whether the directory around a path is why it cannot be removed. */
function isRefusal(error: unknown): boolean {
  return ['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '');
}

/** As bubblewrap would. */
function make(path: string, kind: 'directory' | 'file'): void {
  const { O_CREAT, O_EXCL, O_WRONLY } = constants;
  try {
    if (kind === 'directory') mkdirSync(pathBytes(path), 0o755);
    else closeSync(openSync(pathBytes(path), O_CREAT | O_EXCL | O_WRONLY, 0o444));
  } catch {
    // it is there, or cannot be
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

/** Removing takes a few microseconds. */
const MOST_ATTEMPTS = 100;
