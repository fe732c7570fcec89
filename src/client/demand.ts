import { Changes } from '../base/index.ts';

/**
 * Knows whether anybody waits for something that has yet to come over the connection. A reader with a full buffer
 * may hold the connection up only while nobody does: its own loop may be what waits.
 */
export class Demand {
  readonly changes = new Changes();
  #waiting = 0;

  get isPresent(): boolean {
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
