export interface TimeLimitOptions {
  readonly timeoutMs: number;
  /** Between SIGTERM and SIGKILL; 0: SIGKILL at once. */
  readonly graceMs: number;
}

/** Ends a process that still runs when its time is over. Timers count on a clock that is never set. */
export class TimeLimit {
  #isOver = false;

  /** `exited` settles at the real exit of the process, also while its events are not taken. */
  constructor({ timeoutMs, graceMs }: TimeLimitOptions, exited: Promise<unknown>, end: (graceMs: number) => void) {
    const timer = setTimeout(() => {
      this.#isOver = true;
      end(graceMs);
    }, timeoutMs);
    void exited.then(() => clearTimeout(timer));
  }

  /** Whether the time was over before the process exited. */
  get isOver(): boolean {
    return this.#isOver;
  }
}
