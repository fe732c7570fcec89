import { randomInt } from 'node:crypto';

/** The seed named by an environment variable, or a fresh one. */
export function seedFrom(variable: string): number {
  return Number(process.env[variable] ?? randomInt(2 ** 31));
}

/** A repeatable source of whole numbers below a bound (mulberry32). */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}
