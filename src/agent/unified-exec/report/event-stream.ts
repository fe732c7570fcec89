import { Changes, onAbort } from '../../../base/index.ts';
import { limits } from '../limits.ts';
import type { ExecEvent } from './exec-event.ts';

/** Gives every subscriber every event in order, from the moment it subscribed. */
export class EventStream {
  readonly #subscribers = new Set<Subscriber>();
  #ended = false;

  emit(event: ExecEvent): void {
    for (const subscriber of this.#subscribers) subscriber.add(event);
  }

  /** Events are kept for the subscriber from now on, until it stops iterating or the signal aborts. */
  subscribe(signal?: AbortSignal): AsyncIterable<ExecEvent> {
    const subscriber = new Subscriber();
    const leave = (): void => {
      this.#subscribers.delete(subscriber);
      subscriber.end();
    };
    this.#subscribers.add(subscriber);
    const listening = onAbort(this.#ended ? undefined : signal, leave);
    if (this.#ended) leave();
    return subscriber.events(() => {
      listening[Symbol.dispose]();
      leave();
    });
  }

  /** Ends the iteration of every subscriber. */
  end(): void {
    this.#ended = true;
    for (const subscriber of this.#subscribers) subscriber.end();
  }
}

/** A bounded queue. Above its first limit output events are dropped and counted, above the second all events. */
class Subscriber {
  readonly #changes = new Changes();
  #queue: ExecEvent[] = [];
  #bytes = 0;
  #missed = 0;
  #ended = false;

  add(event: ExecEvent): void {
    if (this.#ended) return;
    if (!this.#hasRoomFor(event)) {
      this.#missed++;
      return;
    }
    this.#reportMissed();
    this.#queue.push(event);
    this.#bytes += weight(event);
    this.#changes.notify();
  }

  #hasRoomFor({ type }: ExecEvent): boolean {
    const { eventsQueued, eventBytesQueued, eventsQueuedAtMost, eventBytesQueuedAtMost } = limits;
    if (type !== 'ExecCommandOutputDelta') {
      return this.#queue.length < eventsQueuedAtMost && this.#bytes < eventBytesQueuedAtMost;
    }
    return this.#queue.length < eventsQueued && this.#bytes < eventBytesQueued;
  }

  end(): void {
    this.#reportMissed();
    this.#ended = true;
    this.#changes.notify();
  }

  async *events(onOver: () => void): AsyncGenerator<ExecEvent, void, void> {
    try {
      for (;;) {
        const batch = this.#queue;
        this.#queue = [];
        this.#bytes = 0;
        this.#reportMissed();
        yield* batch;
        if (this.#queue.length > 0) continue;
        if (this.#ended) return;
        await this.#changes.next();
      }
    } finally {
      onOver();
    }
  }

  #reportMissed(): void {
    if (this.#missed > 0) this.#queue.push({ type: 'EventsMissed', count: this.#missed });
    this.#missed = 0;
  }
}

function weight(event: ExecEvent): number {
  if (event.type === 'ExecCommandOutputDelta') return event.chunk.length;
  return event.type === 'ExecCommandEnd' ? event.aggregated_output.length : 0;
}
