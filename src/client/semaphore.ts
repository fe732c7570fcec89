import { onAbort } from '../base/index.ts';

/** Has up to `count` holders at a time; the others wait in the order of their calls. */
export class Semaphore {
  readonly #waiting: Set<() => void> = new Set();
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  async acquire(signal?: AbortSignal): Promise<Disposable> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#nextRelease(signal);
    return { [Symbol.dispose]: () => this.#release() };
  }

  /** Resolves when this caller is the first that waits and a holder releases. */
  #nextRelease(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        leaving[Symbol.dispose]();
        resolve();
      };
      this.#waiting.add(enter);
      const leaving = onAbort(signal, (reason) => {
        this.#waiting.delete(enter);
        reject(reason);
      });
    });
  }

  #release(): void {
    const [first] = this.#waiting;
    if (!first) {
      this.#free++;
      return;
    }
    this.#waiting.delete(first);
    first();
  }
}
