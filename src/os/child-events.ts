import type { ChildEvent } from './child.ts';

/** The events of one child, in order, once. Taking an event returns the room of the chunk taken before it. */
export class ChildEvents implements AsyncIterable<ChildEvent>, AsyncIterator<ChildEvent> {
  readonly #grant: (event: ChildEvent) => void;
  readonly #waiting: ((result: IteratorResult<ChildEvent>) => void)[] = [];
  #queue: ChildEvent[] = [];
  #head = 0;
  #taken: ChildEvent | undefined;
  #complete = false;

  constructor(grant: (event: ChildEvent) => void) {
    this.#grant = grant;
  }

  [Symbol.asyncIterator](): AsyncIterator<ChildEvent> {
    return this;
  }

  next(): Promise<IteratorResult<ChildEvent>> {
    if (this.#taken?.type === 'output') this.#grant(this.#taken);
    this.#taken = undefined;
    const event = this.#shift();
    if (event !== undefined) return Promise.resolve({ done: false, value: this.#take(event) });
    if (this.#complete) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  push(event: ChildEvent): void {
    const resolve = this.#waiting.shift();
    if (resolve === undefined) this.#queue.push(event);
    else resolve({ done: false, value: this.#take(event) });
  }

  /** No event follows. */
  complete(): void {
    this.#complete = true;
    for (const resolve of this.#waiting.splice(0)) resolve({ done: true, value: undefined });
  }

  #take(event: ChildEvent): ChildEvent {
    this.#taken = event;
    return event;
  }

  #shift(): ChildEvent | undefined {
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
