import type { Result } from '../protocol/index.ts';
import { OutputGapError } from './errors.ts';
import { EventOrder } from './event-order.ts';
import type { ProcessEvent } from './process-event.ts';

export interface FeedObserver {
  event(event: ProcessEvent): void;
  failed(failure: Error): void;
}

/** Puts the events of one process in order and reads missing ones from the server. */
export class ProcessFeed {
  readonly #processId: string;
  readonly #read: (afterSeq: number) => Promise<Result<'process/read'>>;
  readonly #observer: FeedObserver;
  readonly #order = new EventOrder();
  #catchingUp: Promise<void> | undefined;
  #isLearning = false;
  /** The highest number that has arrived; events without a number arrive in order. */
  #arrived = 0;
  #gapTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(processId: string, read: (afterSeq: number) => Promise<Result<'process/read'>>, observer: FeedObserver) {
    this.#processId = processId;
    this.#read = read;
    this.#observer = observer;
  }

  receive(arrived: ProcessEvent): void {
    const event = { ...arrived, seq: arrived.seq || Math.max(this.#arrived, this.#order.delivered) + 1 };
    this.#arrived = Math.max(this.#arrived, event.seq);
    if (event.type === 'exited' && event.sandboxDenied === undefined) {
      void this.#learnDenial(event);
      return;
    }
    this.#deliver(this.#order.offer(event));
    if (this.#order.isStuck && !this.#isLearning) void this.catchUp();
    else this.#watchGap();
  }

  /** Reads missed events from the server. Never rejects: a gap that stays fails the process. */
  catchUp(): Promise<void> {
    this.#catchingUp ??= this.#fill().finally(() => {
      this.#catchingUp = undefined;
    });
    return this.#catchingUp;
  }

  /** Asks whether the sandbox caused an exit; the exit is held back until the answer comes. */
  async #learnDenial(exit: ProcessEvent & { type: 'exited' }): Promise<void> {
    this.#isLearning = true;
    const { sandboxDenied } = await this.#read(exit.seq).catch(() => ({ sandboxDenied: false })); // the server does not know the process any more
    this.#isLearning = false;
    this.receive({ ...exit, sandboxDenied: sandboxDenied ?? false });
  }

  /** Neighbouring events may arrive swapped; one that is missing for GAP_MS is read from the server. */
  #watchGap(): void {
    if (!this.#order.hasGap) {
      clearTimeout(this.#gapTimer);
      this.#gapTimer = undefined;
    } else this.#gapTimer ??= setTimeout(() => void this.catchUp(), GAP_MS);
  }

  async #fill(): Promise<void> {
    clearTimeout(this.#gapTimer);
    this.#gapTimer = undefined;
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

const GAP_MS = 1000;
