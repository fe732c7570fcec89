import type { Socket } from 'node:net';
import { addon } from './addon.ts';

/**
 * Has the system take bytes at once, past Node's streams, which take longer than the system does; how many it took. None
 * if some already wait in the socket, or if it is not one to send on: the socket itself finds out why.
 */
export function sendNow(socket: Socket, bytes: Uint8Array, more?: Uint8Array): number {
  if (!socket.writable || socket.writableLength > 0) return 0;
  const { _handle: handle } = socket as Socket & { _handle?: { fd?: number } | null };
  return Math.max(0, addon().send(handle?.fd ?? -1, bytes, more));
}

/** The same for a socket that was inherited; how many bytes it took. Throws when its peer takes none any more. */
export function sendToSocket(descriptor: number, bytes: Uint8Array): number {
  const sent = addon().send(descriptor, bytes, undefined);
  if (sent < 0) throw new Error('the peer of the socket is gone');
  return sent;
}
