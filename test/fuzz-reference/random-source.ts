/** A repeatable source of choices. */
export class RandomSource {
  readonly below: (bound: number) => number;
  /** How many values out of the ordinary the request in the making has. */
  oddities = 0;

  constructor(below: (bound: number) => number) {
    this.below = below;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  oneIn(bound: number): boolean {
    return this.below(bound) === 0;
  }

  /** Usually from the first list, sometimes from the second, which is counted. */
  usually<T>(ordinary: readonly T[], odd: readonly T[], bound = 20): T {
    if (!this.oneIn(bound)) return this.pick(ordinary);
    this.oddities++;
    return this.pick(odd);
  }
}
