import { describe, expect, it } from 'vitest';
import { heldBy } from '../../test/support/heap.ts';
import { deferred } from './deferred.ts';
import { UnlessFailed } from './unless-failed.ts';

describe('waiting unless something else fails', () => {
  it('ends with the work, or with the failure, whichever comes first', async () => {
    const other = deferred();
    const waiting = new UnlessFailed(other.promise);
    expect(await waiting.wait(Promise.resolve(1))).toBe(1);
    const endless = waiting.wait(new Promise(() => {}));
    other.reject(new Error('lost'));
    await expect(endless).rejects.toThrow('lost');
    await expect(waiting.wait(new Promise(() => {}))).rejects.toThrow('lost');
  });

  it('keeps no memory of the promises that it has waited for', async () => {
    const waiting = new UnlessFailed(new Promise(() => {}));
    const held = await heldBy(async () => {
      for (let n = 0; n < 100_000; n++) await waiting.wait(Promise.resolve(n));
    });
    expect(held).toBeLessThan(2_000_000);
  });
});
