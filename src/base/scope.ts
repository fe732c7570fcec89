type Owned = AsyncDisposable | Disposable;

/** Owns resources and releases them newest first; Node 20 has no `AsyncDisposableStack`. */
export class Scope implements AsyncDisposable {
  #owned: Owned[] = [];

  own<T extends Owned>(resource: T): T {
    this.#owned.push(resource);
    return resource;
  }

  defer(release: () => void | Promise<void>): void {
    this.#owned.push({ [Symbol.asyncDispose]: async () => release() });
  }

  /** Moves everything to a new scope; this one releases nothing any more. */
  move(): Scope {
    const moved = new Scope();
    moved.#owned = this.#owned.splice(0);
    return moved;
  }

  /** Releases everything even when one release fails; the first failure is thrown at the end. */
  async [Symbol.asyncDispose](): Promise<void> {
    const failures: unknown[] = [];
    for (const resource of this.#owned.splice(0).reverse()) {
      try {
        if (Symbol.asyncDispose in resource) await resource[Symbol.asyncDispose]();
        else resource[Symbol.dispose]();
      } catch (failure) {
        failures.push(failure);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
