/** Holds what must be released together, newest first; Node 20 has no `DisposableStack`. */
export class Holdings implements Disposable {
  #held: Disposable[] = [];

  hold<T extends Disposable>(thing: T): T {
    this.#held.push(thing);
    return thing;
  }

  /** Hands everything on: nothing is released here any more. */
  move(): Holdings {
    const moved = new Holdings();
    moved.#held = this.#held;
    this.#held = [];
    return moved;
  }

  [Symbol.dispose](): void {
    for (const thing of this.#held.splice(0).reverse()) thing[Symbol.dispose]();
  }
}
