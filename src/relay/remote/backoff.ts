import type { Clock } from '../../base/index.ts';

const FIRST_MS = 1000;
const LONGEST_MS = 30_000;
/** After a connection that lasted this long the next wait is short again. */
const STEADY_MS = 120_000;

/**
 * How long to wait before the next attempt: a base that doubles from 1 s to 30 s, less a random part of up to half, so that
 * environments that lost the same rendezvous do not return together.
 */
export class Backoff {
  readonly #clock: Clock;
  #baseMs = FIRST_MS;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  nextMs(): number {
    const delay = this.#baseMs * (1 - this.#clock.random() / 2);
    this.#baseMs = Math.min(this.#baseMs * 2, LONGEST_MS);
    return delay;
  }

  /** Notes how long a connection lasted; only a steady one makes the next wait short again. */
  lasted(ms: number): void {
    if (ms >= STEADY_MS) this.#baseMs = FIRST_MS;
  }
}

/** The wait before a harness asks again: a person may be waiting for it, so it is short, and grows to 5 s. */
export function harnessDelayMs(attempt: number, clock: Clock): number {
  const delay = Math.min(500 * 2 ** attempt, 5000);
  return delay * (1 + clock.random() / 2);
}
