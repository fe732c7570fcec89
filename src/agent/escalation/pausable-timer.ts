import { LONGEST_TIMER_MS } from '../../base/index.ts';

/** A timer that is suspended while it is held. */
export class PausableTimer implements Disposable {
  readonly #onElapsed: () => void;
  #leftMs: number;
  #holders = 0;
  #startedAt = performance.now();
  #timer: NodeJS.Timeout | undefined;

  constructor(durationMs: number, onElapsed: () => void) {
    this.#onElapsed = onElapsed;
    this.#leftMs = durationMs;
    this.#start();
  }

  /** Stops the time until the result is disposed of. */
  hold(): Disposable {
    if (this.#holders++ === 0) {
      clearTimeout(this.#timer);
      this.#leftMs -= performance.now() - this.#startedAt;
    }
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (isHeld && --this.#holders === 0) this.#start();
        isHeld = false;
      },
    };
  }

  [Symbol.dispose](): void {
    this.#holders = Number.POSITIVE_INFINITY;
    clearTimeout(this.#timer);
  }

  #start(): void {
    this.#startedAt = performance.now();
    this.#timer = setTimeout(this.#onElapsed, Math.min(Math.max(this.#leftMs, 0), LONGEST_TIMER_MS));
  }
}
