import { describe, expect, it } from 'vitest';
import { stopTimes } from './stop-times.ts';

describe('a stop', () => {
  it('takes no longer than the grace period, whose last part is for closing connections and cleaning up', () => {
    expect(stopTimes(2000)).toEqual({ killMs: 1500, closeMs: 1750, endMs: 2000 });
    expect(stopTimes(60_000)).toEqual({ killMs: 59_500, closeMs: 59_750, endMs: 60_000 });
    expect(stopTimes(1000)).toEqual({ killMs: 750, closeMs: 875, endMs: 1000 });
  });

  it('has half a second when the grace period is shorter', () => {
    expect(stopTimes(0)).toEqual({ killMs: 0, closeMs: 437.5, endMs: 500 });
    expect(stopTimes(100)).toEqual({ killMs: 100, closeMs: 437.5, endMs: 500 });
  });
});
