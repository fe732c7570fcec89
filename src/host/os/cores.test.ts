import { describe, expect, it } from 'vitest';
import { coresOf } from './cores.ts';

describe('the limit of a control group', () => {
  it.each([
    ['max 100000\n', Number.POSITIVE_INFINITY],
    ['50000 100000\n', 0.5],
    ['400000 100000\n', 4],
  ])('%j is so many cores: %d', (limit, cores) => {
    expect(coresOf(limit)).toBe(cores);
  });
});
