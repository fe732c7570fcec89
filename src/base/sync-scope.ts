/** Owns disposables that are released together, newest first; Node 20 has no `DisposableStack`. */
export class SyncScope implements Disposable {
  #held: Disposable[] = [];

  own<T extends Disposable>(thing: T): T {
    this.#held.push(thing);
    return thing;
  }

  /** Moves everything to a new scope; this one releases nothing any more. */
  move(): SyncScope {
    const moved = new SyncScope();
    moved.#held = this.#held;
    this.#held = [];
    return moved;
  }

  [Symbol.dispose](): void {
    for (const thing of this.#held.splice(0).reverse()) thing[Symbol.dispose]();
  }
}
