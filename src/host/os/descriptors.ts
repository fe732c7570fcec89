import { closeSync } from 'node:fs';
import { addon } from './addon.ts';

/** Two connected sockets, of which a child may inherit one. */
export function streamPair(): [own: number, other: number] {
  return addon().socketPair(true);
}

/** The number in the first eight bytes that have arrived on a socket, if any. They stay there, with a descriptor that came with them. */
export function receivedNumber(fd: number): bigint | undefined {
  return addon().receivedNumber(fd);
}

/** How many bytes wait in a socket to be read. */
export function unreadBytes(fd: number): number {
  return addon().unreadBytes(fd);
}

/** Locks an open file or directory without waiting, until it is closed; returns whether it could. */
export function lock(fd: number, how: 'alone' | 'shared'): boolean {
  return addon().lock(fd, how === 'alone');
}

/** Shuts a socket down for the other end; bytes and descriptors that have arrived here stay until it is closed. */
export function shutDown(fd: number): void {
  addon().hangUp(fd);
}

/** Receives the bytes that have arrived on a socket into a buffer, without waiting; undefined at the end of the stream. */
export function receiveNow(socket: number, buffer: Buffer): Buffer | undefined {
  const count = addon().receive(socket, buffer);
  return count < 0 ? undefined : buffer.subarray(0, count);
}

/** A socket through which a child sends descriptors to this process, once. */
export class DescriptorChannel implements Disposable {
  /** The end that the child inherits. */
  readonly childEnd: number;
  #ownEnd: number | undefined;
  #childEndOpen = true;

  constructor() {
    const [own, child] = addon().socketPair(false);
    this.#ownEnd = own;
    this.childEnd = child;
  }

  /** The descriptors that the child sends; none if it ends before. To be called once it is started. */
  receive(): Promise<readonly number[]> {
    this.#closeChildEnd(); // so that the channel ends when the child does
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
