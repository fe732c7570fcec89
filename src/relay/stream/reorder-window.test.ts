import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReorderWindow } from './reorder-window.ts';

const record = Buffer.from('record');

describe('the window of a receiver', () => {
  it('gives every record once and in order, whatever order within its bounds they come in', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -20, max: 64 }), { maxLength: 300 }), (distances) => {
        const window = new ReorderWindow(1_000_000);
        const seen = new Set<number>();
        const taken: number[] = [];
        for (const distance of distances) {
          const seq = Math.max(0, window.next + distance);
          expect(window.add(seq, Buffer.from([seq]))).toBe(!seen.has(seq));
          seen.add(seq);
          for (let next = window.take(); next; next = window.take()) taken.push(next[0]!);
        }

        expect(taken).toEqual(Array.from({ length: taken.length }, (_, at) => at & 0xff));
        expect(seen.has(window.next)).toBe(false);
        expect(window.hasGap).toBe([...seen].some((seq) => seq > window.next));
      }),
      { numRuns: 300 },
    );
  });

  it('reaches 64 records ahead', () => {
    expect(new ReorderWindow(1000).add(64, record)).toBe(true);
    expect(() => new ReorderWindow(1000).add(65, record)).toThrow('record is 65 ahead of the one expected');
  });

  it('holds a mebibyte: 17 full records, not 18', () => {
    const window = new ReorderWindow(1024 * 1024);
    const full = Buffer.alloc(61_456);

    for (let seq = 1; seq <= 17; seq++) expect(window.add(seq, full)).toBe(true);

    expect(() => window.add(18, full)).toThrow('more than 1048576 bytes wait for a missing record');
    expect(window.add(0, full)).toBe(true);
    while (window.take());
    expect(window.add(19, full)).toBe(true);
  });

  it('keeps the first of two records with one number', () => {
    const window = new ReorderWindow(1000);
    window.add(1, Buffer.from('first'));

    expect(window.add(1, Buffer.from('second'))).toBe(false);
    window.add(0, record);
    window.take();

    expect(window.take()?.toString()).toBe('first');
  });

  it('tells which of the next 32 records are waiting', () => {
    const window = new ReorderWindow(1000);
    for (const seq of [0, 1, 3, 31, 32, 33]) window.add(seq, record);

    expect(window.waitingBits).toBe(0x8000_000b);
    window.take();

    expect(window.waitingBits).toBe(0xc000_0005);
  });
});
