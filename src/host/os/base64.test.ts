import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBase64Part } from './base64.ts';

describe('decoding a part of a buffer', () => {
  it('returns the bytes, wherever their text is in the buffer', () => {
    const bytes = fc.uint8Array({ maxLength: 400 });
    fc.assert(
      fc.property(bytes, fc.nat(40), (original, before) => {
        const text = Buffer.from(original).toString('base64');
        const buffer = Buffer.from(`${'-'.repeat(before)}${text}"}`);

        expect(decodeBase64Part(buffer, before, before + text.length)).toEqual(Buffer.from(original));
      }),
    );
  });

  it('refuses a text in which any character is changed to one that base64 does not have', () => {
    const length = fc.integer({ min: 1, max: 120 }).map((groups) => groups * 4);
    const strange = fc
      .integer({ min: 0, max: 255 })
      .filter((code) => !/[A-Za-z0-9+/=]/.test(String.fromCharCode(code)));
    fc.assert(
      fc.property(length, fc.nat(479), strange, (size, at, code) => {
        const buffer = Buffer.alloc(size, 'QUJD');
        buffer[at % size] = code;

        expect(() => decodeBase64Part(buffer, 0, size)).toThrow('not base64');
      }),
    );
  });

  it.each(['A', 'AAA', 'AA=A', 'A===', '====', 'AB==', 'AAB=', 'AA==AAAA'])('refuses %s', (text) => {
    expect(() => decodeBase64Part(Buffer.from(text), 0, text.length)).toThrow('not base64');
  });

  it('returns no bytes for an empty text', () => {
    expect(decodeBase64Part(Buffer.from('x'), 1, 1)).toEqual(Buffer.alloc(0));
  });
});
