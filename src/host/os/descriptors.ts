import { closeSync } from 'node:fs';
import { addon } from './addon.ts';

/** Two ends of a stream of bytes, of which a child may inherit one. */
export function streamPair(): [own: number, other: number] {
  return addon().socketPair(true);
}

/** Eight bytes that have come on a socket, as a number, if they have; they stay, and so does a descriptor that came with them. */
export function receivedNumber(fd: number): bigint | undefined {
  return addon().receivedNumber(fd);
}

/** How many bytes wait in a socket to be read. */
export function unreadBytes(fd: number): number {
  return addon().unreadBytes(fd);
}

/** Whether an open file or directory could be locked at once, until it is closed: for this descriptor alone, or beside others. */
export function lock(fd: number, how: 'alone' | 'shared'): boolean {
  return addon().lock(fd, how === 'alone');
}

/** Has the other end of a socket see the end, while what has come here stays until it is closed. */
export function hangUp(fd: number): void {
  addon().hangUp(fd);
}

/** Receives from a socket what is there, without waiting, and no more than there is room for; nothing at the end of the stream. */
export function receiveNow(socket: number, room: Buffer): Buffer | undefined {
  const count = addon().receive(socket, room);
  return count < 0 ? undefined : room.subarray(0, count);
}

/** A way for a child to hand descriptors to this process, once. */
export class DescriptorChannel implements Disposable {
  /** What the child inherits. */
  readonly childEnd: number;
  #ownEnd: number | undefined;
  #childEndOpen = true;

  constructor() {
    const [own, child] = addon().socketPair(false);
    this.#ownEnd = own;
    this.childEnd = child;
  }

  /** What the child sends, or nothing if it ends before. To be called once it is started. */
  receive(): Promise<readonly number[]> {
    this.#closeChildEnd(); // the end of the child must be the end of the channel
    const own = this.#ownEnd!;
    this.#ownEnd = undefined;
    return addon().receiveDescriptors(own);
  }

  [Symbol.dispose](): void {
    this.#closeChildEnd();
    if (this.#ownEnd !== undefined) closeSync(this.#ownEnd);
    this.#ownEnd = undefined;
  }

  #closeChildEnd(): void {
    if (this.#childEndOpen) closeSync(this.childEnd);
    this.#childEndOpen = false;
  }
}
