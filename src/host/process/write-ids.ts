/** The newest write ids of a process, so that a repeated write is told from a new one. */
export class WriteIds {
  readonly #limit: number;
  /** With the write that waits for the child; most processes never have one. */
  #seen: Map<string, Promise<void> | undefined> | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  has(id: string): boolean {
    return this.#seen?.has(id) ?? false;
  }

  /** The write with this id, as long as it waits for the child. */
  waiting(id: string): Promise<void> | undefined {
    return this.#seen?.get(id);
  }

  /** Forgets an id whose write came to nothing. */
  delete(id: string): void {
    this.#seen?.delete(id);
  }

  /** Remembers an id; `write` is waiting until it is settled. */
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

  /** The write with this id waits no longer. */
  settle(id: string): void {
    if (this.has(id)) this.#seen?.set(id, undefined);
  }
}
