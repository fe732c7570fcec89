import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RelayData } from '../wire/frame.ts';
import { ReorderWindow } from './reorder-window.ts';

const record = (seq: number, payload = Buffer.from('record')): RelayData => ({
  type: 'data',
  seq,
  segmentIndex: 0,
  segmentCount: 1,
  payload,
});

describe('the window of a receiver', () => {
  it('gives every record once and in order, whatever order within its bounds they come in', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -20, max: 64 }), { maxLength: 300 }), (distances) => {
        const window = new ReorderWindow(1_000_000);
        const seen = new Set<number>();
        const taken: number[] = [];
        for (const distance of distances) {
          const seq = Math.max(0, window.next + distance);
          expect(window.add(record(seq, Buffer.from([seq])))).toBe(!seen.has(seq));
          seen.add(seq);
          for (let next = window.take(); next; next = window.take()) taken.push(next.seq);
        }

        expect(taken).toEqual(Array.from({ length: taken.length }, (_, at) => at));
        expect(seen.has(window.next)).toBe(false);
        expect(window.hasGap).toBe([...seen].some((seq) => seq > window.next));
      }),
      { numRuns: 300 },
    );
  });

  it('reaches 64 records ahead', () => {
    expect(new ReorderWindow(1000).add(record(64))).toBe(true);
    expect(() => new ReorderWindow(1000).add(record(65))).toThrow('record is 65 ahead of the one expected');
  });

  it('holds a mebibyte: 17 full records, not 18', () => {
    const window = new ReorderWindow(1024 * 1024);
    const full = Buffer.alloc(61_456);

    for (let seq = 1; seq <= 17; seq++) expect(window.add(record(seq, full))).toBe(true);

    expect(() => window.add(record(18, full))).toThrow('more than 1048576 bytes wait for a missing record');
    expect(window.add(record(0, full))).toBe(true);
    while (window.take());
    expect(window.add(record(19, full))).toBe(true);
  });

  it('keeps the first of two records with one number', () => {
    const window = new ReorderWindow(1000);
    window.add(record(1, Buffer.from('first')));

    expect(window.add(record(1, Buffer.from('second')))).toBe(false);
    window.add(record(0));
    window.take();

    expect(String(window.take()?.payload)).toBe('first');
  });

  it('tells which of the next 32 records are waiting', () => {
    const window = new ReorderWindow(1000);
    for (const seq of [0, 1, 3, 31, 32, 33]) window.add(record(seq));

    expect(window.waitingBits).toBe(0x8000_000b);
    window.take();

    expect(window.waitingBits).toBe(0xc000_0005);
  });
});
