import { describe, expect, it } from 'vitest';
import { systemClock } from './clock.ts';
import { deferred } from './deferred.ts';

describe('the clock of the system', () => {
  it('runs what is due, in order, and nothing that was cancelled', async () => {
    const ran: string[] = [];
    const last = deferred();
    systemClock.after(20, () => last.resolve());
    systemClock.after(1, () => void ran.push('first'));
    const cancel = systemClock.after(2, () => void ran.push('cancelled'));

    cancel();
    await last.promise;

    expect(ran).toEqual(['first']);
  });

  it('wakes a sleeper early, without an error, when its signal aborts', async () => {
    const stop = new AbortController();
    const sleeping = systemClock.sleep(3_600_000, stop.signal);

    stop.abort();

    await expect(sleeping).resolves.toBeUndefined();
  });
});
