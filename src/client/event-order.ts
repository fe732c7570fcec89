import type { SeqRange } from './errors.ts';

/** An event of a process or stream, numbered by the server from 1 without gaps. `closed` is the last. */
export interface NumberedEvent {
  readonly type: string;
  readonly seq: number;
}

export interface Reconciled<E extends NumberedEvent> {
  /** Events that can be delivered now. */
  readonly events: readonly E[];
  /** Numbers that neither this client nor the server has. */
  readonly missing: SeqRange | undefined;
}

/** Puts events in the order of their numbers; each number passes once. */
export class EventOrder<E extends NumberedEvent> {
  readonly #held = new Map<number, E>();
  #next = 1;
  #closedHeld = false;

  /** The last number that passed. */
  get delivered(): number {
    return this.#next - 1;
  }

  /** Whether the missing event must be read: the last event is there, or too many later ones have arrived. */
  get isStuck(): boolean {
    return this.#closedHeld || this.#held.size > HELD_EVENTS;
  }

  /** Whether an event waits for an earlier one. */
  get hasGap(): boolean {
    return this.#held.size > 0;
  }

  /** Takes an event that arrived; gives the events that are now in order. */
  offer(event: E): readonly E[] {
    this.hold(event);
    return this.#release();
  }

  /** Gives the events that are in order, and what is missing below `end` although the server was asked for it. */
  protected settle(end: number): Reconciled<E> {
    const events = this.#release();
    const missing = this.gap(end);
    return { events, missing: missing && { from: missing.from, to: missing.to } };
  }

  protected hold(event: E): void {
    if (event.seq < this.#next || this.#held.has(event.seq)) return;
    this.#held.set(event.seq, event);
    if (event.type === 'closed') this.#closedHeld = true;
  }

  /** The missing numbers below `end`: how many there are, and their range. */
  protected gap(end: number): (SeqRange & { count: number }) | undefined {
    const held = [...this.#held.keys()].filter((seq) => seq < end).length;
    const count = end - this.#next - held;
    if (count <= 0) return undefined;
    let from = this.#next;
    while (this.#held.has(from)) from++;
    let to = end - 1;
    while (this.#held.has(to)) to--;
    return { from, to, count };
  }

  #release(): readonly E[] {
    const events: E[] = [];
    for (let event = this.#held.get(this.#next); event; event = this.#held.get(this.#next)) {
      this.#held.delete(this.#next++);
      if (event.type === 'closed') this.#closedHeld = false;
      events.push(event);
    }
    return events;
  }
}

/** The reference sometimes swaps neighbouring events; a gap that this many events have passed is a loss. */
const HELD_EVENTS = 256;
