/**
 * Waits for promises one after the other, and rejects when the given one rejects. A `Promise.race` for each would be kept in memory by
 * the given promise until it settles: some 300 bytes a race.
 */
export class UnlessFailed {
  #failure: { readonly error: unknown } | undefined;
  #reject: (error: unknown) => void = () => {};

  constructor(other: Promise<unknown>) {
    other.catch((error) => {
      this.#failure = { error };
      this.#reject(error);
    });
  }

  wait<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      if (this.#failure) reject(this.#failure.error);
      work.then(resolve, reject);
    });
  }
}
