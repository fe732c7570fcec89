/** Memory all queues of a node share. Who fills it when it is exhausted waits until there is room again. */
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

  /** Books a change of a queue's length. */
  change(bytes: number): void {
    this.#used += bytes;
    if (this.#waiting.size === 0 || this.#used > this.#most * ROOM_AGAIN) return;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resume of waiting) resume();
  }

  /** Calls back once there is room. */
  wait(resume: () => void): void {
    this.#waiting.add(resume);
  }
}

/** Not at the first byte, or readers would stop and go with every frame. */
const ROOM_AGAIN = 7 / 8;
