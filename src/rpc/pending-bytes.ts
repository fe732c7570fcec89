import { Changes } from '../base/index.ts';

type Task = () => void | Promise<void>;

/** Counts the bytes of requests that are being handled. Above the limit, the connection is not read. */
export class PendingBytes {
  readonly #limit: number;
  readonly #released = new Changes();
  #bytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Counts the bytes until the returned task has ended. */
  during(bytes: number, task: Task): Task {
    this.#bytes += bytes;
    const done = (): void => {
      this.#bytes -= bytes;
      this.#released.notify();
    };
    return () => {
      const busy = task();
      if (busy) return busy.finally(done);
      done();
    };
  }

  /** Resolves when there is room for another message; undefined when there is. */
  get room(): Promise<void> | undefined {
    return this.#bytes > this.#limit ? this.#roomAgain() : undefined;
  }

  async #roomAgain(): Promise<void> {
    while (this.#bytes > this.#limit) await this.#released.next();
  }
}
