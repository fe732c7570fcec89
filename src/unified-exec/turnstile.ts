/** Lets one through at a time, in the order they came. */
export class Turnstile {
  #last: Promise<void> = Promise.resolve();
  #inside = 0;

  /** Whether anybody is in, or waits to be. */
  get isTaken(): boolean {
    return this.#inside > 0;
  }

  async enter(): Promise<Disposable> {
    const before = this.#last;
    let leave!: () => void;
    this.#last = new Promise((resolve) => {
      leave = resolve;
    });
    this.#inside++;
    await before;
    let isIn = true;
    return {
      [Symbol.dispose]: () => {
        if (!isIn) return;
        isIn = false;
        this.#inside--;
        leave();
      },
    };
  }
}
