import { describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../base/index.ts';
import { Backoff, harnessDelayMs } from './backoff.ts';

const clock = (random: number): Clock => ({ ...systemClock, random: () => random });
const delays = (backoff: Backoff, count: number): number[] => Array.from({ length: count }, () => backoff.nextMs());

describe('the wait before an environment tries again', () => {
  it('doubles from one second to half a minute', () => {
    expect(delays(new Backoff(clock(0)), 7)).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });

  it('is cut by up to half, so that many do not return together', () => {
    expect(delays(new Backoff(clock(0.5)), 2)).toEqual([750, 1500]);
    expect(new Backoff(clock(1)).nextMs()).toBe(500);
  });

  it('starts over after a connection of two minutes, and after no shorter one', () => {
    const backoff = new Backoff(clock(0));
    delays(backoff, 3);

    backoff.lasted(119_999);
    expect(backoff.nextMs()).toBe(8000);
    backoff.lasted(120_000);
    expect(backoff.nextMs()).toBe(1000);
  });
});

describe('the wait before a harness asks again', () => {
  it('doubles from half a second to five, and is stretched by up to half', () => {
    expect([0, 1, 2, 3, 4, 5].map((attempt) => harnessDelayMs(attempt, clock(0)))).toEqual([
      500, 1000, 2000, 4000, 5000, 5000,
    ]);
    expect(harnessDelayMs(1, clock(0.5))).toBe(1250);
  });
});
