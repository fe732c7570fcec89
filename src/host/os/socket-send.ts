import { addon } from './addon.ts';

/** Sends bytes on a socket without waiting; returns how many the kernel took, a negative number if the socket has failed. */
export function sendNow(descriptor: number, bytes: Uint8Array, more?: Uint8Array): number {
  return addon().send(descriptor, bytes, more);
}

/** `sendNow` for a socket to a helper. Throws when the socket has failed. */
export function sendToSocket(descriptor: number, bytes: Uint8Array): number {
  const sent = addon().send(descriptor, bytes, undefined);
  if (sent < 0) throw new Error('the other end of the socket is closed');
  return sent;
}
