import { Changes } from './changes.ts';

/** A lock that has one holder at a time; the others get it in the order of their calls. */
export class Mutex {
  /** The first one holds the lock, the others wait for it. */
  readonly #queue: object[] = [];
  readonly #changes = new Changes();

  /** Whether the lock is held. */
  get isLocked(): boolean {
    return this.#queue.length > 0;
  }

  /** Resolves with the lock, which disposal releases. Rejects when the signal aborts first. */
  async lock(signal?: AbortSignal): Promise<Disposable> {
    const holder = { [Symbol.dispose]: () => this.#release(holder) };
    this.#queue.push(holder);
    while (this.#queue[0] !== holder) {
      await this.#changes.next({ signal });
      if (!signal?.aborted) continue;
      this.#release(holder);
      throw signal.reason;
    }
    return holder;
  }

  #release(holder: object): void {
    const at = this.#queue.indexOf(holder);
    if (at < 0) return;
    this.#queue.splice(at, 1);
    this.#changes.notify();
  }
}
