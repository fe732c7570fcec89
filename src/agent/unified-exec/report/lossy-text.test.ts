import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boundaryAfter, boundaryBefore, incompleteTail, lossyText } from './lossy-text.ts';

const isWhole = (bytes: Uint8Array): boolean => !lossyText(bytes).includes('\ufffd');
const unicode = fc.string({ unit: 'binary' }).filter((text) => !text.includes('\ufffd'));

describe('text in pieces', () => {
  it('is cut between characters only, and never more than three bytes away', () => {
    fc.assert(
      fc.property(unicode, fc.nat(200), (text, wanted) => {
        const bytes = Buffer.from(text);
        const limit = Math.min(wanted, bytes.length);
        const [before, after] = [boundaryBefore(bytes, limit), boundaryAfter(bytes, limit)];
        expect([before, after].every((at) => isWhole(bytes.subarray(0, at)) && isWhole(bytes.subarray(at)))).toBe(true);
        expect(before <= limit && limit <= after && after - before <= 4).toBe(true);
      }),
    );
  });

  it('ends with an incomplete character exactly as long as its rest may come', () => {
    fc.assert(
      fc.property(unicode, fc.nat(200), (text, wanted) => {
        const bytes = Buffer.from(text).subarray(0, wanted);
        const cut = bytes.length - incompleteTail(bytes);
        expect(isWhole(bytes.subarray(0, cut))).toBe(true);
        expect(boundaryBefore(Buffer.from(text), cut)).toBe(cut);
      }),
    );
  });

  it('does not wait for the rest of what can be no character', () => {
    const waits = [[0xff], [0x80, 0x80], [0xc0], [0xf5], [0xe2, 0x82], [0xf0, 0x9f, 0x98], [0xc3]];
    expect(waits.map((bytes) => incompleteTail(Uint8Array.from(bytes)))).toEqual([0, 0, 0, 0, 2, 3, 1]);
  });
});
