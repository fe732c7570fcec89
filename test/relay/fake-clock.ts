import type { Clock } from '../../src/base/index.ts';

/** A clock that stands still until it is told to go on. */
export class FakeClock implements Clock {
  #now = 0;
  #timers: { readonly at: number; readonly run: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  random(): number {
    return 0;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#now + ms, run };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        cancel();
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const cancel = this.after(ms, wake);
      signal.addEventListener('abort', wake);
    });
  }

  /** Timers that have not run. */
  get waiting(): number {
    return this.#timers.length;
  }

  /** Moves to the next timer, if there is one by then, and runs it. */
  step(until = Number.POSITIVE_INFINITY): boolean {
    const [next] = this.#timers.toSorted((a, b) => a.at - b.at);
    if (!next || next.at > until) return false;
    this.#timers = this.#timers.filter((other) => other !== next);
    this.#now = Math.max(this.#now, next.at);
    next.run();
    return true;
  }

  /** Lets time pass, with everything that was to happen in it. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await settled();
    while (this.step(until)) await settled();
    this.#now = until;
  }
}

/** Resolves when everything that needs no more time has happened. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
