/** The newest write ids of one input, by which a repeated write is recognised. */
export class WriteIds {
  readonly #limit: number;
  /** Each with its write, as long as that waits for the reader. Made with the first id, which most processes never get. */
  #seen: Map<string, Promise<void> | undefined> | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  has(id: string): boolean {
    return this.#seen?.has(id) ?? false;
  }

  /** The write with this id, if it still waits for the reader. */
  waiting(id: string): Promise<void> | undefined {
    return this.#seen?.get(id);
  }

  /** Forgets an id whose write failed. */
  delete(id: string): void {
    this.#seen?.delete(id);
  }

  /** Remembers an id, with its write until `settle` is called. */
  add(id: string, write?: Promise<void>): void {
    this.#seen ??= new Map();
    this.#seen.set(id, write);
    if (this.#seen.size <= this.#limit) return;
    // A map iterates in order of insertion: the first is the oldest.
    for (const oldest of this.#seen.keys()) {
      this.#seen.delete(oldest);
      return;
    }
  }

  /** Notes that the write with this id has been answered. */
  settle(id: string): void {
    if (this.has(id)) this.#seen?.set(id, undefined);
  }
}
