import { Changes } from '../base/index.ts';

/**
 * Counts the callers that wait for something that has yet to come over the connection. A reader with a full buffer
 * may hold the connection up only while there is none: the one that waits may be the loop of the reader itself.
 */
export class ConnectionWaits {
  readonly changes = new Changes();
  #waiting = 0;

  get isAnyPending(): boolean {
    return this.#waiting > 0;
  }

  async during<T>(work: Promise<T>): Promise<T> {
    this.#waiting++;
    this.changes.notify();
    try {
      return await work;
    } finally {
      this.#waiting--;
    }
  }
}
