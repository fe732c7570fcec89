import type { Result } from '../protocol/index.ts';
import { EventOrder, type Reconciled } from './event-order.ts';
import type { ProcessEvent } from './process-event.ts';

/** The answer to a `process/read` without a byte limit. */
export type Retained = Pick<
  Result<'process/read'>,
  | 'chunks'
  | 'nextSeq'
  | 'exited'
  | 'exitCode'
  | 'closed'
  | 'sandboxDenied'
  | 'denials'
  | 'signal'
  | 'timedOut'
  | 'limitExceeded'
>;

/** The order of the events of one process. */
export class ProcessOrder extends EventOrder<ProcessEvent> {
  #hasExit = false;

  /** Fills gaps from a `process/read`, and reports a gap that cannot be filled. */
  reconcile(retained: Retained): Reconciled<ProcessEvent> {
    const {
      chunks,
      nextSeq,
      exited,
      exitCode,
      closed,
      sandboxDenied = false,
      denials,
      signal,
      timedOut,
      limitExceeded,
    } = retained;
    for (const { seq, stream, chunk } of chunks) this.hold({ type: 'output', seq, stream, bytes: chunk });
    if (closed) this.hold({ type: 'closed', seq: nextSeq - 1 });
    // The answer does not give the number of the exit. If no output is lost, it is the only number missing.
    const gap = this.gap(nextSeq);
    if (exited && !this.#hasExit && gap?.count === 1) {
      const facts = { sandboxDenied, denials, signal, timedOut, limitExceeded };
      this.hold({ type: 'exited', seq: gap.from, exitCode: exitCode ?? -1, ...facts });
    }
    return this.settle(nextSeq);
  }

  protected override hold(event: ProcessEvent): void {
    super.hold(event);
    if (event.type === 'exited') this.#hasExit = true;
  }
}
