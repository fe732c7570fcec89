import { addon } from './addon.ts';
import { errorName } from './error-name.ts';

/**
 * Keeps other processes of this user out of this one's memory and environment, and closes descriptors that whoever
 * started it left open. For programs of our own only: it concerns the whole process.
 */
export function hardenProcess(): void {
  // A parent that is Node, too, may be connected by a channel of this number.
  const channel = process.channel as { fd?: number } | undefined;
  const errno = addon().harden(channel?.fd ?? -1);
  if (errno !== 0) throw new Error(`this process cannot be hardened: ${errorName(errno)}`);
}
