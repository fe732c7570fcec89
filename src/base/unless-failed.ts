/**
 * Waits for one thing after the other, until something else fails. `Promise.race` would do for one of them: what has not settled yet
 * remembers every race that it is part of.
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
