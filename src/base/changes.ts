import { onAbort } from './abortable.ts';
import { LONGEST_TIMER_MS } from './deadline.ts';

/** Wakes all waiters at the next change; each checks for itself what has changed. */
export class Changes {
  #waiting: Set<() => void> | undefined; // most instances never have a waiter

  /** Resolves at the next `notify`, at the deadline, or when the signal aborts, whichever is first. */
  next(options: { timeoutMs?: number; signal?: AbortSignal | undefined } = {}): Promise<void> {
    const { timeoutMs, signal } = options;
    if (signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = timeoutMs === undefined ? undefined : setTimeout(done, Math.min(timeoutMs, LONGEST_TIMER_MS));
      this.#waiting ??= new Set();
      const waiting = this.#waiting;
      waiting.add(done);
      const listening = onAbort(signal, done);

      function done(): void {
        clearTimeout(timer);
        listening[Symbol.dispose]();
        waiting.delete(done);
        resolve();
      }
    });
  }

  notify(): void {
    if (this.#waiting === undefined || this.#waiting.size === 0) return;
    for (const wake of [...this.#waiting]) wake();
  }
}
