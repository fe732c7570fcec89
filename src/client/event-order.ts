import type { Result } from '../protocol/index.ts';
import type { SeqRange } from './errors.ts';
import type { ProcessEvent } from './process-event.ts';

/** The answer to a `process/read` without a byte limit. */
export type Retained = Pick<
  Result<'process/read'>,
  'chunks' | 'nextSeq' | 'exited' | 'exitCode' | 'closed' | 'sandboxDenied' | 'denials' | 'signal' | 'timedOut'
>;

export interface Reconciled {
  /** Events that can be delivered now. */
  readonly events: readonly ProcessEvent[];
  /** Numbers that neither this client nor the server has. */
  readonly missing: SeqRange | undefined;
}

/** Puts the events of one process in the order of their numbers; each number passes once. */
export class EventOrder {
  readonly #held = new Map<number, ProcessEvent>();
  #next = 1;
  #exit: 'ahead' | 'held' | 'delivered' = 'ahead';
  #closedHeld = false;

  /** The last number that passed. */
  get delivered(): number {
    return this.#next - 1;
  }

  /** Whether the missing event must be read: the process has closed, or too many later events have arrived. */
  get isStuck(): boolean {
    return this.#closedHeld || this.#held.size > HELD_EVENTS;
  }

  /** Whether an event waits for an earlier one. */
  get hasGap(): boolean {
    return this.#held.size > 0;
  }

  /** Takes an event that arrived; gives the events that are now in order. */
  offer(event: ProcessEvent): readonly ProcessEvent[] {
    this.#hold(event);
    return this.#release();
  }

  /** Fills gaps from a `process/read`, and reports a gap that cannot be filled. */
  reconcile(retained: Retained): Reconciled {
    const { chunks, nextSeq, exited, exitCode, closed, sandboxDenied = false, denials, signal, timedOut } = retained;
    for (const { seq, stream, chunk } of chunks) this.#hold({ type: 'output', seq, stream, bytes: chunk });
    if (closed) this.#hold({ type: 'closed', seq: nextSeq - 1 });
    // The answer does not give the number of the exit. If no output is lost, it is the only number missing.
    const gap = this.#gap(nextSeq);
    if (exited && this.#exit === 'ahead' && gap?.count === 1) {
      const facts = { sandboxDenied, denials, signal, timedOut };
      this.#hold({ type: 'exited', seq: gap.from, exitCode: exitCode ?? -1, ...facts });
    }
    const events = this.#release();
    const missing = this.#gap(nextSeq);
    return { events, missing: missing && { from: missing.from, to: missing.to } };
  }

  #hold(event: ProcessEvent): void {
    if (event.seq < this.#next || this.#held.has(event.seq)) return;
    this.#held.set(event.seq, event);
    if (event.type === 'exited') this.#exit = 'held';
    if (event.type === 'closed') this.#closedHeld = true;
  }

  #release(): readonly ProcessEvent[] {
    const events: ProcessEvent[] = [];
    for (let event = this.#held.get(this.#next); event; event = this.#held.get(this.#next)) {
      this.#held.delete(this.#next++);
      if (event.type === 'exited') this.#exit = 'delivered';
      if (event.type === 'closed') this.#closedHeld = false;
      events.push(event);
    }
    return events;
  }

  /** The missing numbers below `end`: how many there are, and their range. */
  #gap(end: number): (SeqRange & { count: number }) | undefined {
    const held = [...this.#held.keys()].filter((seq) => seq < end).length;
    const count = end - this.#next - held;
    if (count <= 0) return undefined;
    let from = this.#next;
    while (this.#held.has(from)) from++;
    let to = end - 1;
    while (this.#held.has(to)) to--;
    return { from, to, count };
  }
}

/** The reference sometimes swaps neighbouring events; a gap that this many events have passed is a loss. */
const HELD_EVENTS = 256;
