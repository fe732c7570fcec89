import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  concatBytes,
  decodeBase64,
  decodeLatin1,
  decodeUtf8,
  encodeBase64,
  encodeUtf8,
  indexOfAscii,
} from './bytes.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

describe('base64', () => {
  it('is the standard alphabet with padding', () => {
    const texts = [[], [0xfb], [0xfb, 0xff], [0xfb, 0xff, 0xfe]].map((bytes) => encodeBase64(Uint8Array.from(bytes)));

    expect(texts).toEqual(['', '+w==', '+/8=', '+//+']);
  });

  it('gives back every sequence of bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const text = encodeBase64(bytes);
        expect(text).toBe(Buffer.from(bytes).toString('base64'));
        expect(hex(decodeBase64(text))).toBe(hex(bytes));
      }),
      { numRuns: 200 },
    );
  });

  it('of a part of a buffer is that of the part alone', () => {
    expect(encodeBase64(new Uint8Array([9, 1, 2, 3, 9]).subarray(1, 4))).toBe('AQID');
  });

  it.each([
    ['the alphabet for URLs', '-_-_', 'Invalid symbol 45, offset 0.'],
    ['a foreign symbol', '*AAA', 'Invalid symbol 42, offset 0.'],
    ['a letter whose low byte is in the alphabet', 'AA\u0141A', 'Invalid symbol 197, offset 2.'],
    ['a line end', 'AAAA\nAAA', 'Invalid symbol 10, offset 4.'],
    ['a blank', 'AAA ', 'Invalid symbol 32, offset 3.'],
    ['a missing pad', 'AAA', 'Invalid padding'],
    ['one symbol alone', 'A', 'Invalid input length: 1'],
    ['one symbol more', 'YWExY', 'Invalid input length: 5'],
    ['a foreign symbol more', 'AAAA*', 'Invalid symbol 42, offset 4.'],
    ['a pad more', 'AAAA=', 'Invalid symbol 61, offset 4.'],
    ['padding alone', '====', 'Invalid symbol 61, offset 0.'],
    ['padding in the middle', 'AA==AAAA', 'Invalid symbol 61, offset 2.'],
    ['a pad inside a group', 'AA=A', 'Invalid symbol 61, offset 2.'],
    ['three pads', 'A===', 'Invalid symbol 61, offset 1.'],
    ['bits after the last byte', 'AB==', 'Invalid last symbol 66, offset 1.'],
    ['bits after the last two bytes', 'AAB=', 'Invalid last symbol 66, offset 2.'],
  ])('with %s is refused', (_, text, message) => {
    expect(() => decodeBase64(text)).toThrow(message);
  });

  it('is accepted exactly when encoding what was decoded gives the text again', () => {
    const symbol = fc.constantFrom('A', 'B', 'Q', 'g', '8', '+', '/', '=', '-', '_', ' ', '\n', '\u0141', '\ud83d');
    fc.assert(
      fc.property(fc.array(symbol, { maxLength: 12 }), (symbols) => {
        const text = symbols.join('');
        const canonical = Buffer.from(text, 'base64').toString('base64') === text;
        let accepted = true;
        try {
          decodeBase64(text);
        } catch {
          accepted = false;
        }
        expect(accepted).toBe(canonical);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('text and bytes', () => {
  it('UTF-8 gives back every text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(decodeUtf8(encodeUtf8(text))).toBe(text);
      }),
      { numRuns: 200 },
    );
  });

  it('an encoded replacement character is text, a byte that is not UTF-8 is an error', () => {
    expect(decodeUtf8(Uint8Array.of(0xef, 0xbf, 0xbd))).toBe('\ufffd');
    expect(() => decodeUtf8(Uint8Array.of(0x61, 0xff))).toThrow(TypeError);
  });

  it('a byte order mark is kept', () => {
    expect(decodeUtf8(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61))).toBe('\ufeffa');
  });

  it('Latin-1 is one character per byte of the range', () => {
    expect(decodeLatin1(Uint8Array.of(0x61, 0xe9, 0xff, 0x62), 1, 3)).toBe('\u00e9\u00ff');
  });

  it('an ASCII text is found at its first place from a position on', () => {
    const bytes = encodeUtf8('\u00fc"chunk":"a","chunk":"b"');

    expect([indexOfAscii(bytes, '"chunk"'), indexOfAscii(bytes, '"chunk"', 3), indexOfAscii(bytes, 'none')]).toEqual([
      2, 14, -1,
    ]);
  });

  it('parts are joined in order', () => {
    expect([...concatBytes([Uint8Array.of(1), new Uint8Array(0), Uint8Array.of(2, 3)])]).toEqual([1, 2, 3]);
  });
});
