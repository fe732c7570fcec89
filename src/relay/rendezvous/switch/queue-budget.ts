import { switchLimits } from '../limits.ts';

/** Memory that all queues of a node share. A socket that fills a queue is not read while it is exhausted. */
export class QueueBudget {
  readonly #most: number;
  readonly #waiting = new Set<() => void>();
  #used = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get used(): number {
    return this.#used;
  }

  get exhausted(): boolean {
    return this.#used > this.#most;
  }

  /** Counts a change of a queue's length. */
  change(bytes: number): void {
    this.#used += bytes;
    if (this.#waiting.size === 0 || this.#used > this.#most * switchLimits.roomAgain) return;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resume of waiting) resume();
  }

  /** Calls back when there is room. */
  wait(resume: () => void): void {
    this.#waiting.add(resume);
  }
}
