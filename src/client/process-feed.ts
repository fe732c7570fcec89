import type { Result } from '../protocol/index.ts';
import { OutputGapError } from './errors.ts';
import { EventFeed, type FeedObserver } from './event-feed.ts';
import type { ProcessEvent } from './process-event.ts';
import { ProcessOrder, type Retained } from './process-order.ts';

type Read = (afterSeq: number) => Promise<Result<'process/read'>>;

/** Follows one process: takes its events from the connection, and asks for those that were missed. */
export interface ProcessFollower {
  receive(event: ProcessEvent): void;
  /** Never rejects. */
  catchUp(): Promise<void>;
}

/** The events of one process, in order and complete. */
export class ProcessFeed implements ProcessFollower {
  readonly #read: Read;
  readonly #feed: EventFeed<ProcessEvent, Retained>;
  #isLearning = false;
  /** The highest number that has arrived; events without a number arrive in order. */
  #arrived = 0;

  constructor(processId: string, read: Read, observer: FeedObserver<ProcessEvent>) {
    this.#read = read;
    this.#feed = new EventFeed({
      order: new ProcessOrder(),
      read,
      gapError: (missing) => new OutputGapError(processId, missing),
      observer,
    });
  }

  receive(arrived: ProcessEvent): void {
    const event = { ...arrived, seq: arrived.seq || Math.max(this.#arrived, this.#feed.delivered) + 1 };
    this.#arrived = Math.max(this.#arrived, event.seq);
    if (event.type === 'exited' && event.sandboxDenied === undefined) void this.#learnDenial(event);
    else this.#feed.receive(event, this.#isLearning);
  }

  /** Reads missed events from the server. Never rejects: a gap that stays fails the process. */
  catchUp(): Promise<void> {
    return this.#feed.catchUp();
  }

  /** Asks whether the sandbox caused an exit; the exit is held back until the answer comes. */
  async #learnDenial(exit: ProcessEvent & { type: 'exited' }): Promise<void> {
    this.#isLearning = true;
    const { sandboxDenied } = await this.#read(exit.seq).catch(() => ({ sandboxDenied: false })); // the server does not know the process any more
    this.#isLearning = false;
    this.receive({ ...exit, sandboxDenied: sandboxDenied ?? false });
  }
}
