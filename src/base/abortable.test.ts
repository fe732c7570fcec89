import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { abortable, aborted, onAbort } from './abortable.ts';
import { deferred } from './deferred.ts';

const reason = new Error('enough');
const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

describe('an action on abort', () => {
  it('is done once, with the reason', () => {
    const stop = new AbortController();
    const seen: unknown[] = [];
    onAbort(stop.signal, (why) => seen.push(why));
    expect(seen).toEqual([]);

    stop.abort(reason);
    stop.abort(new Error('again'));

    expect(seen).toEqual([reason]);
  });

  it('is done at once where the signal has aborted', () => {
    const seen: unknown[] = [];
    onAbort(AbortSignal.abort(reason), (why) => seen.push(why));

    expect(seen).toEqual([reason]);
  });

  it('is not done after disposal, which leaves no listener', () => {
    const stop = new AbortController();
    const seen: unknown[] = [];
    {
      using _action = onAbort(stop.signal, (why) => seen.push(why));
      expect(listeners(stop.signal)).toBe(1);
    }
    expect(listeners(stop.signal)).toBe(0);

    stop.abort(reason);

    expect(seen).toEqual([]);
  });

  it('is never done without a signal', () => {
    using _action = onAbort(undefined, () => expect.unreachable());
  });
});

describe('abortable work', () => {
  it('gives its result or its failure, and leaves no listener', async () => {
    const { signal } = new AbortController();
    const failure = new Error('failed');

    expect(await abortable(Promise.resolve(7), signal)).toBe(7);
    await expect(abortable(Promise.reject(failure), signal)).rejects.toBe(failure);
    expect(await abortable(Promise.resolve(8), undefined)).toBe(8);
    await Promise.resolve();

    expect(listeners(signal)).toBe(0);
  });

  it('rejects with the reason of the signal, and its later failure is not an unhandled rejection', async () => {
    const stop = new AbortController();
    const work = deferred<number>();
    const waiting = abortable(work.promise, stop.signal);

    stop.abort(reason);

    await expect(waiting).rejects.toBe(reason);
    work.reject(new Error('late'));
    await expect(abortable(Promise.reject(new Error('late')), stop.signal)).rejects.toBe(reason);
  });
});

describe('a signal', () => {
  it('is waited for until it aborts', async () => {
    const stop = new AbortController();
    const order: string[] = [];
    const waiting = aborted(stop.signal).then(() => order.push('aborted'));
    order.push('waiting');
    stop.abort();
    await waiting;

    expect(order).toEqual(['waiting', 'aborted']);
    await aborted(stop.signal);
  });
});
