import { Changes } from './changes.ts';

/** Lets one through at a time, in the order they came. */
export class Turnstile {
  /** The first one is in, the others wait. */
  readonly #queue: object[] = [];
  readonly #changes = new Changes();

  /** Whether anybody is in, or waits to be. */
  get isTaken(): boolean {
    return this.#queue.length > 0;
  }

  /** Rejects when the signal aborts before it is one's turn. */
  async enter(signal?: AbortSignal): Promise<Disposable> {
    const visitor = { [Symbol.dispose]: () => this.#leave(visitor) };
    this.#queue.push(visitor);
    while (this.#queue[0] !== visitor) {
      await this.#changes.next({ signal });
      if (!signal?.aborted) continue;
      this.#leave(visitor);
      throw signal.reason;
    }
    return visitor;
  }

  #leave(visitor: object): void {
    const at = this.#queue.indexOf(visitor);
    if (at < 0) return;
    this.#queue.splice(at, 1);
    this.#changes.notify();
  }
}
