import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DeltaCutter } from './delta-cutter.ts';
import { lossyText } from './lossy-text.ts';

function cutAll(chunks: readonly Uint8Array[]): Uint8Array[] {
  const cutter = new DeltaCutter();
  return [...chunks.flatMap((chunk) => [...cutter.cut(chunk)]), ...cutter.rest()];
}

describe('output events', () => {
  it('carry every byte, at most 8192 at a time', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 20_000, size: 'max' }), { maxLength: 4 }), (chunks) => {
        const pieces = cutAll(chunks);
        expect(Buffer.concat(pieces).equals(Buffer.concat(chunks))).toBe(true);
        expect(pieces.every(({ length }) => length > 0 && length <= 8192)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it('never cut a character, however it arrived', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 5 }), (text, size) => {
        const bytes = Buffer.from(text);
        const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
          bytes.subarray(index * size, (index + 1) * size),
        );
        expect(cutAll(chunks).map(lossyText).join('')).toBe(lossyText(bytes));
      }),
    );
  });

  it('hand over at the end what never became a character', () => {
    expect(cutAll([Uint8Array.of(0x61, 0xe2), Uint8Array.of(0x82)]).map((piece) => Uint8Array.from(piece))).toEqual([
      Uint8Array.of(0x61),
      Uint8Array.of(0xe2, 0x82),
    ]);
  });
});
