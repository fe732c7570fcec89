import { Changes } from './changes.ts';

/** Time and random numbers, which tests replace to run without waiting. */
export interface Clock {
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** From 0 up to, but not including, 1. */
  random(): number;
  /** Runs something later; the result cancels it. */
  after(ms: number, run: () => void): () => void;
  /** Resolves early, without an error, when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  random: () => Math.random(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    timer.unref?.(); // in Node only: a timer alone does not keep the program running
    return () => clearTimeout(timer);
  },
  sleep: (ms, signal) => new Changes().next({ timeoutMs: ms, signal }),
};
