import { addon } from './addon.ts';

/** Has the kernel take bytes on a socket without waiting; how many it took, negative if it takes none any more. */
export function sendNow(descriptor: number, bytes: Uint8Array, more?: Uint8Array): number {
  return addon().send(descriptor, bytes, more);
}

/** The same for an inherited socket. Throws when its peer takes no bytes any more. */
export function sendToSocket(descriptor: number, bytes: Uint8Array): number {
  const sent = addon().send(descriptor, bytes, undefined);
  if (sent < 0) throw new Error('the peer of the socket is gone');
  return sent;
}
