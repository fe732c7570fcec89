import { readFileSync } from 'node:fs';
import { addon } from './addon.ts';
import { errorName } from './error-name.ts';

/**
 * Keeps other processes of this user out of this one's memory and environment, and closes the descriptors that its parent left
 * open. Commands get the soft limit of descriptors that this process was started with, which Node has raised. Changes the whole
 * process, so only programs of this package call it.
 */
export function hardenProcess(childFiles = inheritedFileLimit()): void {
  // A parent that is a Node process may be connected by an IPC channel with this descriptor.
  const channel = process.channel as { fd?: number } | undefined;
  const errno = addon().harden(channel?.fd ?? -1, childFiles);
  if (errno !== 0) throw new Error(`this process cannot be hardened: ${errorName(errno)}`);
}

/** The usual limit, which programs that use select() rely on. */
const USUAL_FILES = 1024;

/** The soft limit of descriptors of the parent of this process; the usual one for pid 1, whose own limit is meant for services. */
export function inheritedFileLimit(parent = process.ppid): number {
  if (parent <= 1) return USUAL_FILES;
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync(`/proc/${parent}/limits`, 'utf8')) ?? [];
    return Number(soft) || USUAL_FILES;
  } catch {
    return USUAL_FILES; // it has ended, or belongs to another user
  }
}
