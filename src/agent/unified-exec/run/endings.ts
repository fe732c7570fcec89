import { settleWithin } from './settle-within.ts';

/** Ends of commands that are yet to be told. */
export class Endings {
  readonly #open = new Set<Promise<void>>();

  add(ending: Promise<void>): void {
    this.#open.add(ending);
    void ending.finally(() => this.#open.delete(ending));
  }

  /** Waits for the endings, but not longer than this: a server may not answer. */
  async settle(timeoutMs: number): Promise<void> {
    if (this.#open.size > 0) await settleWithin(this.#open, timeoutMs);
  }
}
