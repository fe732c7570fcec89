import { type Deferred, deferred } from '../../base/index.ts';
import { ExecError } from '../../protocol/index.ts';
import type { ResultText } from '../engine/index.ts';

type Task = () => ResultText | Promise<ResultText>;

/**
 * Bounds the answers that are in memory for one client: a request begins when a slot is free, in order, and its answer
 * keeps the slot until it has been sent. While a client does not read, nothing more is read for it.
 */
export class AnswerSlots implements Disposable {
  readonly #waiting: Deferred<void>[] = [];
  #free = SLOTS;
  #closed = false;

  run(task: Task): ResultText | Promise<ResultText> {
    if (this.#closed) throw connectionClosed();
    if (this.#free > 0) {
      this.#free--;
      return this.#begin(task);
    }
    const slot = deferred();
    this.#waiting.push(slot);
    return slot.promise.then(() => this.#begin(task));
  }

  /** Rejects requests that wait for a slot, and later ones. */
  [Symbol.dispose](): void {
    this.#closed = true;
    for (const slot of this.#waiting.splice(0)) slot.reject(connectionClosed());
  }

  #begin(task: Task): ResultText | Promise<ResultText> {
    try {
      const result = task();
      if (!(result instanceof Promise)) return this.#keepSlot(result);
      return result.then(
        (answer) => this.#keepSlot(answer),
        (error) => this.#fail(error),
      );
    } catch (error) {
      return this.#fail(error);
    }
  }

  #keepSlot({ buffer, start, end }: ResultText): ResultText {
    return { buffer, start, end, onSent: () => this.#release() };
  }

  #fail(error: unknown): never {
    this.#release();
    throw error;
  }

  /** Gives the slot to the next request that waits. */
  #release(): void {
    const next = this.#waiting.shift();
    if (next) next.resolve();
    else this.#free++;
  }
}

const connectionClosed = (): ExecError => new ExecError('invalidRequest', 'the connection is closed');

/** Twice the number of threads that read files, so that none of them waits for a socket. */
const SLOTS = 8;
