import { Changes } from '../base/index.ts';

/** Lets a number of holders in at a time; the others wait in line. */
export class Slots {
  readonly #freed = new Changes();
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  async take(signal?: AbortSignal): Promise<Disposable> {
    signal?.throwIfAborted();
    while (this.#free === 0) {
      await this.#freed.next({ signal });
      signal?.throwIfAborted();
    }
    this.#free--;
    return { [Symbol.dispose]: () => this.#release() };
  }

  #release(): void {
    this.#free++;
    this.#freed.notify();
  }
}
