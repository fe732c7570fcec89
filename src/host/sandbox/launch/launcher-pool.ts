/** A launcher and what belongs to it. */
export interface Loaded {
  readonly waiting: AsyncDisposable & { readonly isIdle: boolean };
}

/** Keeps at most one loaded launcher of each kind, so that the next order of that kind need not wait until one is loaded. */
export class LauncherPool<T extends Loaded> implements AsyncDisposable {
  readonly #idle = new Map<string, T>();
  #isClosed = false;

  /** The idle launcher of a kind, which leaves the pool. */
  take(kind: string): T | undefined {
    const loaded = this.#idle.get(kind);
    this.#idle.delete(kind);
    return loaded?.waiting.isIdle ? loaded : undefined;
  }

  /** Has one idle launcher of a kind. */
  fill(kind: string, load: () => T): void {
    if (this.#isClosed || this.#idle.get(kind)?.waiting.isIdle) return;
    this.#idle.set(kind, load());
  }

  /** The same in the next turn of the event loop or later. Where no process can be started then, the next order loads its own. */
  fillLater(kind: string, load: () => T, delayMs?: number): void {
    const fill = (): void => {
      try {
        this.fill(kind, load);
      } catch {
        // as said
      }
    };
    if (delayMs === undefined) setImmediate(fill);
    else setTimeout(fill, delayMs).unref();
  }

  /** Loads none any more. Those that are idle can still be taken. */
  close(): void {
    this.#isClosed = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    const idle = [...this.#idle.values()];
    this.#idle.clear();
    await Promise.all(idle.map(({ waiting }) => waiting[Symbol.asyncDispose]()));
  }
}
