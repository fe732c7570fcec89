import { describe, expect, it } from 'vitest';
import { LocalUsedIds } from '../trust/used-ids.ts';
import { RateLimit } from './rate-limit.ts';

describe('a rate limit', () => {
  it('allows each name a number of events in any span of time', () => {
    let now = 0;
    const limit = new RateLimit(2, 100, () => now);
    const allowed: boolean[] = [];
    for (const at of [0, 50, 60, 99, 100, 120, 150]) {
      now = at;
      allowed.push(limit.allows('a'));
    }

    expect(allowed).toEqual([true, true, false, false, true, false, true]);
    expect(limit.allows('b')).toBe(true);
  });

  it('does not last longer when the clock is set back', () => {
    let now = 5000;
    const limit = new RateLimit(1, 100, () => now);
    limit.allows('a');
    now = 1000;

    expect([limit.allows('a'), limit.allows('a')]).toEqual([true, false]);
  });

  it('forgets names without recent events', () => {
    let now = 0;
    const limit = new RateLimit(1, 100, () => now);
    for (let name = 0; name < 1000; name++) {
      now = name;
      limit.allows(`${name}`);
    }

    expect(limit.size).toBeLessThanOrEqual(101);
  });
});

describe('the ids that were used', () => {
  it('can be claimed once, and are forgotten when they have expired', async () => {
    let now = 0;
    const usedIds = new LocalUsedIds(100, () => now);

    expect([await usedIds.claim('a'), await usedIds.claim('b'), await usedIds.claim('a')]).toEqual([true, true, false]);
    now = 99;
    expect(await usedIds.claim('a')).toBe(false);
    now = 100;
    await usedIds.claim('c');
    expect(usedIds.size).toBe(1);
  });
});
