import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { Deadline } from './deadline.ts';

describe('a deadline', () => {
  it('aborts when the time is up', async () => {
    using deadline = new Deadline(1, new AbortController().signal);

    await once(deadline.signal, 'abort');

    expect(deadline.signal.reason).toMatchObject({ name: 'TimeoutError' });
  });

  it('aborts with its parent, also with one that has aborted already', () => {
    const parent = new AbortController();
    using early = new Deadline(60_000, parent.signal);
    parent.abort(new Error('over'));
    using late = new Deadline(undefined, parent.signal);

    expect([early.signal.reason, late.signal.reason]).toEqual([new Error('over'), new Error('over')]);
  });

  it('does not abort once it is disposed of', () => {
    const parent = new AbortController();
    const deadline = new Deadline(60_000, parent.signal);
    deadline[Symbol.dispose]();

    parent.abort();

    expect(deadline.signal.aborted).toBe(false);
  });
});
