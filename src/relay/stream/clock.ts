/** Time, so that whatever waits can be tested without waiting. */
export interface Clock {
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** Runs something later; the result calls it off. */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    timer.unref(); // what keeps a program alive is its connection
    return () => clearTimeout(timer);
  },
};
