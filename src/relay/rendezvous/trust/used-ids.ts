/** Remembers which single-use ids were used, until these have expired. */
export interface UsedIds {
  /** True for the first claim of an id. */
  claim(id: string): Promise<boolean>;
}

/** The used ids of this node, in memory. */
export class LocalUsedIds implements UsedIds {
  readonly #keepMs: number;
  readonly #now: () => number;
  /** Oldest first. */
  readonly #claimed = new Map<string, number>();

  constructor(keepMs: number, now: () => number) {
    this.#keepMs = keepMs;
    this.#now = now;
  }

  async claim(id: string): Promise<boolean> {
    const now = this.#now();
    for (const [old, time] of this.#claimed) {
      if (time > now - this.#keepMs) break;
      this.#claimed.delete(old);
    }
    if (this.#claimed.has(id)) return false;
    this.#claimed.set(id, now);
    return true;
  }

  get size(): number {
    return this.#claimed.size;
  }
}
