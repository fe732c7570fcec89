import type { Result } from '../protocol/index.ts';
import { OutputGapError } from './errors.ts';
import { EventOrder } from './event-order.ts';
import type { ProcessEvent } from './process-event.ts';

export interface FeedObserver {
  event(event: ProcessEvent): void;
  failed(failure: Error): void;
}

/** Turns what arrives about a process into its complete history, asking the server for what is missing. */
export class ProcessFeed {
  readonly #processId: string;
  readonly #read: (afterSeq: number) => Promise<Result<'process/read'>>;
  readonly #observer: FeedObserver;
  readonly #order = new EventOrder();
  #catchingUp: Promise<void> | undefined;

  constructor(processId: string, read: (afterSeq: number) => Promise<Result<'process/read'>>, observer: FeedObserver) {
    this.#processId = processId;
    this.#read = read;
    this.#observer = observer;
  }

  receive(event: ProcessEvent): void {
    this.#deliver(this.#order.offer(event));
    if (this.#order.isStuck) void this.catchUp();
  }

  /** Reads what was missed. Never rejects: what cannot be had fails the process. */
  catchUp(): Promise<void> {
    this.#catchingUp ??= this.#fill().finally(() => {
      this.#catchingUp = undefined;
    });
    return this.#catchingUp;
  }

  async #fill(): Promise<void> {
    try {
      const retained = await this.#read(this.#order.delivered);
      const { events, missing } = this.#order.reconcile(retained);
      this.#deliver(events);
      if (missing) throw new OutputGapError(this.#processId, missing);
    } catch (failure) {
      this.#observer.failed(failure as Error);
    }
  }

  #deliver(events: readonly ProcessEvent[]): void {
    for (const event of events) this.#observer.event(event);
  }
}
