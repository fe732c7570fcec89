import { describe, expect, it } from 'vitest';
import { deferred } from '../base/index.ts';
import { Burden } from './burden.ts';

describe('the burden of a connection', () => {
  it('is lighter when a request is done, at once, later or in vain', async () => {
    const burden = new Burden(10);
    const [later, inVain] = [deferred(), deferred()];
    const atOnce = burden.during(6, () => {});
    expect(burden.room).toBeUndefined();
    const done = burden.during(6, () => later.promise)();
    const failed = burden.during(6, () => inVain.promise)();
    const room = burden.room;
    expect(room).toBeInstanceOf(Promise);

    atOnce();
    expect(burden.room).toBeInstanceOf(Promise);
    inVain.reject(new Error('in vain'));
    await expect(failed).rejects.toThrow('in vain');
    await room;
    expect(burden.room).toBeUndefined();
    later.resolve();
    await done;
  });
});
