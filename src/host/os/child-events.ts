import { type Deferred, deferred } from '../../base/index.ts';
import type { ChildEvent } from './child.ts';

/** The events of one child or connection, in order, once. Taking an event returns the room of the chunk before it to the reader. */
export class ChildEvents<E extends { readonly type: string } = ChildEvent>
  implements AsyncIterable<E>, AsyncIterator<E>
{
  readonly #grant: (event: E) => void;
  readonly #waiting: Deferred<IteratorResult<E>>[] = [];
  #queue: E[] = [];
  #head = 0;
  #taken: E | undefined;
  #complete = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(grant: (event: E) => void) {
    this.#grant = grant;
  }

  [Symbol.asyncIterator](): AsyncIterator<E> {
    return this;
  }

  next(): Promise<IteratorResult<E>> {
    if (this.#taken?.type === 'output') this.#grant(this.#taken);
    this.#taken = undefined;
    const event = this.#shift();
    if (event !== undefined) return Promise.resolve({ done: false, value: this.#take(event) });
    if (this.#failure) return Promise.reject(this.#failure.error);
    if (this.#complete) return Promise.resolve({ done: true, value: undefined });
    const next = deferred<IteratorResult<E>>();
    this.#waiting.push(next);
    return next.promise;
  }

  push(event: E): void {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#queue.push(event);
    else waiting.resolve({ done: false, value: this.#take(event) });
  }

  /** To be called after the last event. */
  complete(): void {
    this.#complete = true;
    for (const { resolve } of this.#waiting.splice(0)) resolve({ done: true, value: undefined });
  }

  /** To be called when an event could not be delivered, which is a bug: the iteration fails after the events before it. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  #take(event: E): E {
    this.#taken = event;
    return event;
  }

  #shift(): E | undefined {
    const event = this.#queue[this.#head];
    if (event === undefined) return undefined;
    this.#head += 1;
    if (this.#head === this.#queue.length) {
      this.#queue = [];
      this.#head = 0;
    }
    return event;
  }
}
