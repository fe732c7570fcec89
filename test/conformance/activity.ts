import type { Difference } from './matcher.ts';

/** Lets the replay wait until something has happened on any connection. */
export class Activity {
  readonly #waiting = new Set<() => void>();
  readonly #patienceMs: number;

  /** The patience bounds a wait that would otherwise never end; it decides nothing but when to give up. */
  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
  }

  /** To be called when something has happened. */
  notify(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** Resolves once nothing is outstanding any more; fails by naming what is. */
  async settled(outstanding: () => Difference): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const finish = (end: () => void) => {
        clearTimeout(timer);
        this.#waiting.delete(check);
        end();
      };
      const check = () => {
        if (outstanding() === undefined) finish(resolve);
      };
      const giveUp = () => finish(() => reject(new Error(`waited in vain for ${outstanding()}`)));
      const timer = setTimeout(giveUp, this.#patienceMs);
      this.#waiting.add(check);
      check();
    });
  }
}
