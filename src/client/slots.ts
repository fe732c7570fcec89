/** A semaphore: so many holders at a time, the others wait in line. */
export class Slots {
  readonly #line: Set<() => void> = new Set();
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  async take(signal?: AbortSignal): Promise<Disposable> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#turn(signal);
    return { [Symbol.dispose]: () => this.#release() };
  }

  /** Gives a released slot to the first in line. */
  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        this.#line.delete(enter);
        reject(signal?.reason);
      };
      this.#line.add(enter);
      signal?.addEventListener('abort', leave, { once: true });
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
