import { Changes } from '../base/index.ts';

/**
 * Counts the callers that wait for a message on the connection. A reader with a full buffer may stop the reading of the connection only
 * while there are none: the waiting caller may be the loop of that reader.
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
