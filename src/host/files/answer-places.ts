import { type Deferred, deferred } from '../../base/index.ts';
import { ExecError } from '../../protocol/index.ts';
import type { ResultText } from '../engine/index.ts';

type Task = () => ResultText | Promise<ResultText>;

/**
 * Bounds the answers that are in memory for one client: a request begins when a place is free, in order, and its answer
 * keeps the place until it has been sent. While a client does not read, nothing more is read for it.
 */
export class AnswerPlaces implements Disposable {
  readonly #waiting: Deferred<void>[] = [];
  #free = PLACES;
  #closed = false;

  run(task: Task): ResultText | Promise<ResultText> {
    if (this.#closed) throw connectionClosed();
    if (this.#free > 0) {
      this.#free--;
      return this.#begin(task);
    }
    const place = deferred();
    this.#waiting.push(place);
    return place.promise.then(() => this.#begin(task));
  }

  /** Refuses what waits for a place and what comes later. */
  [Symbol.dispose](): void {
    this.#closed = true;
    for (const place of this.#waiting.splice(0)) place.reject(connectionClosed());
  }

  #begin(task: Task): ResultText | Promise<ResultText> {
    try {
      const result = task();
      if (!(result instanceof Promise)) return this.#keepPlace(result);
      return result.then(
        (answer) => this.#keepPlace(answer),
        (error) => this.#fail(error),
      );
    } catch (error) {
      return this.#fail(error);
    }
  }

  #keepPlace({ buffer, start, end }: ResultText): ResultText {
    return { buffer, start, end, onSent: () => this.#leave() };
  }

  #fail(error: unknown): never {
    this.#leave();
    throw error;
  }

  /** Passes the place on. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next) next.resolve();
    else this.#free++;
  }
}

const connectionClosed = (): ExecError => new ExecError('invalidRequest', 'the connection is closed');

/** Twice as many as there are threads that read, so that none of them waits for a socket. */
const PLACES = 8;
