import { describe, expect, it } from 'vitest';
import { WriteIds } from './write-ids.ts';

describe('the write ids of a process', () => {
  it('are remembered', () => {
    const ids = new WriteIds(3);
    ids.add('1');

    expect([ids.has('1'), ids.has('2')]).toEqual([true, false]);
  });

  it('are forgotten oldest first above the limit', () => {
    const ids = new WriteIds(3);
    for (const id of ['1', '2', '3', '4', '5']) ids.add(id);

    expect(['1', '2', '3', '4', '5'].filter((id) => ids.has(id))).toEqual(['3', '4', '5']);
  });

  it('count once', () => {
    const ids = new WriteIds(2);
    for (const id of ['1', '2', '2', '2']) ids.add(id);

    expect([ids.has('1'), ids.has('2')]).toEqual([true, true]);
  });

  it('give the write that waits until it is settled', () => {
    const ids = new WriteIds(2);
    const write = Promise.resolve();
    ids.add('1', write);

    const before = ids.waiting('1');
    ids.settle('1');
    expect([before, ids.waiting('1'), ids.has('1')]).toEqual([write, undefined, true]);
  });

  it('stay forgotten when a write that waited long is settled', () => {
    const ids = new WriteIds(1);
    ids.add('1', Promise.resolve());
    ids.add('2');
    ids.settle('1');

    expect(['1', '2'].filter((id) => ids.has(id))).toEqual(['2']);
  });
});
