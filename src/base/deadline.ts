import { onAbort } from './abortable.ts';

/**
 * Aborts when the time is up or together with one of its parents, until it is disposed of. `AbortSignal.any` cannot be
 * used for this: Node 20 garbage-collects combined signals that still have a listener.
 */
export class Deadline implements Disposable {
  readonly #controller = new AbortController();
  readonly #following: readonly Disposable[];
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  #expired = false;

  /** Without a timeout only the parents count. */
  constructor(timeoutMs: number | null | undefined, ...parents: readonly AbortSignal[]) {
    if (timeoutMs != null) this.#timer = setTimeout(this.#expire, Math.min(timeoutMs, LONGEST_TIMER_MS));
    this.#following = parents.map((parent) => onAbort(parent, (reason) => this.#controller.abort(reason)));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether the time was up before anything else. */
  get expired(): boolean {
    return this.#expired;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    for (const following of this.#following) following[Symbol.dispose]();
  }

  #expire = (): void => {
    this.#expired = !this.signal.aborted;
    this.#controller.abort(new DOMException('operation timed out', 'TimeoutError'));
  };
}

/** Timers of JavaScript fire at once when asked for more than 2^31-1 ms. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;
