import { onAbort } from '../base/index.ts';
/** A semaphore: so many holders at a time, the others wait in line. */
export class Semaphore {
  readonly #line: Set<() => void> = new Set();
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  async acquire(signal?: AbortSignal): Promise<Disposable> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#turn(signal);
    return { [Symbol.dispose]: () => this.#release() };
  }

  /** Gives a released slot to the first in line. */
  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        leaving[Symbol.dispose]();
        resolve();
      };
      this.#line.add(enter);
      const leaving = onAbort(signal, (reason) => {
        this.#line.delete(enter);
        reject(reason);
      });
    });
  }

  #release(): void {
    const [first] = this.#line;
    if (!first) {
      this.#free++;
      return;
    }
    this.#line.delete(first);
    first();
  }
}
