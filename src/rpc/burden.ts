import { Changes } from '../base/index.ts';

type Task = () => void | Promise<void>;

/** Counts the bytes of messages whose requests are not done yet: while there are too many, nothing more is read. */
export class Burden {
  readonly #most: number;
  readonly #lighter = new Changes();
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Counts the bytes until the returned task is done. */
  during(bytes: number, task: Task): Task {
    this.#bytes += bytes;
    const done = (): void => {
      this.#bytes -= bytes;
      this.#lighter.notify();
    };
    return () => {
      const busy = task();
      if (busy) return busy.finally(done);
      done();
    };
  }

  /** Resolves when there is room for another message; undefined when there is. */
  get room(): Promise<void> | undefined {
    return this.#bytes > this.#most ? this.#roomAgain() : undefined;
  }

  async #roomAgain(): Promise<void> {
    while (this.#bytes > this.#most) await this.#lighter.next();
  }
}
