/** The newest write ids of a process, so that a repeated write is told from a new one. */
export class WriteIds {
  readonly #limit: number;
  readonly #seen = new Set<string>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  has(id: string): boolean {
    return this.#seen.has(id);
  }

  /** Forgets an id whose write came to nothing. */
  delete(id: string): void {
    this.#seen.delete(id);
  }

  add(id: string): void {
    this.#seen.add(id);
    if (this.#seen.size <= this.#limit) return;
    // A set iterates in order of insertion: the first is the oldest.
    for (const oldest of this.#seen) {
      this.#seen.delete(oldest);
      return;
    }
  }
}
