/**
 * Aborts when the time is up or together with one of its parents, until it is disposed of. `AbortSignal.any` cannot be
 * relied on for this: Node 20 collects what it combines while a listener is left.
 */
export class Deadline implements Disposable {
  readonly #controller = new AbortController();
  readonly #parents: readonly AbortSignal[];
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  #expired = false;

  /** Without a time only the parents count. */
  constructor(timeoutMs: number | null | undefined, ...parents: readonly AbortSignal[]) {
    this.#parents = parents;
    if (timeoutMs != null) this.#timer = setTimeout(this.#expire, Math.min(timeoutMs, LONGEST_TIMER_MS));
    for (const parent of parents) parent.addEventListener('abort', this.#follow);
    if (parents.some(({ aborted }) => aborted)) this.#follow();
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
    for (const parent of this.#parents) parent.removeEventListener('abort', this.#follow);
  }

  #expire = (): void => {
    this.#expired = !this.signal.aborted;
    this.#controller.abort(new DOMException('operation timed out', 'TimeoutError'));
  };

  #follow = (): void => this.#controller.abort(this.#parents.find(({ aborted }) => aborted)?.reason);
}

/** Timers of JavaScript fire at once when asked for more than 2^31-1 ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
