import { describe, expect, it } from 'vitest';
import { deferred } from '../base/index.ts';
import { PendingBytes } from './pending-bytes.ts';

describe('the pending bytes of a connection', () => {
  it('are released when a request has ended, at once, later or with an error', async () => {
    const pending = new PendingBytes(10);
    const [later, failing] = [deferred(), deferred()];
    const atOnce = pending.during(6, () => {});
    expect(pending.room).toBeUndefined();
    const done = pending.during(6, () => later.promise)();
    const failed = pending.during(6, () => failing.promise)();
    const room = pending.room;
    expect(room).toBeInstanceOf(Promise);

    atOnce();
    expect(pending.room).toBeInstanceOf(Promise);
    failing.reject(new Error('failed'));
    await expect(failed).rejects.toThrow('failed');
    await room;
    expect(pending.room).toBeUndefined();
    later.resolve();
    await done;
  });
});
