import { setTimeout as wait } from 'node:timers/promises';

/** Time and chance, so that whatever waits or scatters can be tested without waiting. */
export interface Clock {
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** From 0 up to, but not including, 1. */
  random(): number;
  /** Resolves early, without an error, when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  random: () => Math.random(),
  sleep: (ms, signal) => wait(ms, undefined, { signal }).catch(() => {}), // aborted: the caller looks at its signal
};
