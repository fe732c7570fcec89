import type { SeqRange } from './errors.ts';
import type { EventOrder, NumberedEvent, Reconciled } from './event-order.ts';

export interface FeedObserver<E> {
  event(event: E): void;
  failed(failure: Error): void;
}

export interface EventFeedOptions<E extends NumberedEvent, R> {
  readonly order: EventOrder<E> & { reconcile(retained: R): Reconciled<E> };
  /** Asks the server for what it keeps after a number. */
  readonly read: (afterSeq: number) => Promise<R>;
  readonly gapError: (missing: SeqRange) => Error;
  readonly observer: FeedObserver<E>;
}

/** Puts the events of one process or stream in order, and reads missing ones from the server. */
export class EventFeed<E extends NumberedEvent, R> {
  readonly #options: EventFeedOptions<E, R>;
  #catchingUp: Promise<void> | undefined;
  #gapTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: EventFeedOptions<E, R>) {
    this.#options = options;
  }

  /** The last number that was delivered. */
  get delivered(): number {
    return this.#options.order.delivered;
  }

  /** `isHeldBack`: an earlier event is known, though not received here yet. */
  receive(event: E, isHeldBack = false): void {
    const { order } = this.#options;
    this.#deliver(order.offer(event));
    if (order.isStuck && !isHeldBack) void this.catchUp();
    else this.#watchGap();
  }

  /** Reads missed events from the server. Never rejects: a gap that stays is a failure. */
  catchUp(): Promise<void> {
    this.#catchingUp ??= this.#fill().finally(() => {
      this.#catchingUp = undefined;
    });
    return this.#catchingUp;
  }

  /** Neighbouring events may arrive swapped; one that is missing for GAP_MS is read from the server. */
  #watchGap(): void {
    if (!this.#options.order.hasGap) {
      clearTimeout(this.#gapTimer);
      this.#gapTimer = undefined;
    } else this.#gapTimer ??= setTimeout(() => void this.catchUp(), GAP_MS);
  }

  async #fill(): Promise<void> {
    const { order, read, gapError, observer } = this.#options;
    clearTimeout(this.#gapTimer);
    this.#gapTimer = undefined;
    try {
      const { events, missing } = order.reconcile(await read(order.delivered));
      this.#deliver(events);
      if (missing) throw gapError(missing);
    } catch (failure) {
      observer.failed(failure as Error);
    }
  }

  #deliver(events: readonly E[]): void {
    for (const event of events) this.#options.observer.event(event);
  }
}

const GAP_MS = 1000;
