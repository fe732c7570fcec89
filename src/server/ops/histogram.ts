/** Counts how many of the observed values are at most as large as each bound. */
export class Histogram {
  /** Ascending. */
  readonly bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.#counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    let at = 0;
    while (at < this.bounds.length && value > this.bounds[at]!) at++;
    this.#counts[at]!++;
    this.#sum += value;
  }

  get sum(): number {
    return this.#sum;
  }

  /** The number of values up to each bound, and at last of all values. */
  cumulative(): readonly number[] {
    let total = 0;
    return this.#counts.map((count) => (total += count));
  }
}
