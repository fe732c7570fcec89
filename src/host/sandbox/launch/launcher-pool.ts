/** A launcher, with values that its users need. */
export interface PooledLauncher {
  readonly waiting: AsyncDisposable & { readonly isIdle: boolean };
}

/** Keeps at most one loaded launcher of each kind, so that the next order of that kind need not wait until one is loaded. */
export class LauncherPool<T extends PooledLauncher> implements AsyncDisposable {
  readonly #idle = new Map<string, T>();
  #isClosed = false;

  /** The idle launcher of a kind, which leaves the pool. */
  take(kind: string): T | undefined {
    const loaded = this.#idle.get(kind);
    this.#idle.delete(kind);
    return loaded?.waiting.isIdle ? loaded : undefined;
  }

  /** Loads a launcher of a kind unless one is idle. */
  fill(kind: string, load: () => T): void {
    if (this.#isClosed || this.#idle.get(kind)?.waiting.isIdle) return;
    this.#idle.set(kind, load());
  }

  /** `fill` in the next turn of the event loop or later. If no process can be started then, the next order loads its own launcher. */
  fillLater(kind: string, load: () => T, delayMs?: number): void {
    const fill = (): void => {
      try {
        this.fill(kind, load);
      } catch {
        // the next order tries again, and reports the error
      }
    };
    if (delayMs === undefined) setImmediate(fill);
    else setTimeout(fill, delayMs).unref();
  }

  /** Stops loading launchers. Idle ones can still be taken. */
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
