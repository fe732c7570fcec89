import fc from 'fast-check';
import { expect, it } from 'vitest';
import { pathBytes, pathText } from './byte-path.ts';

it('any bytes survive as the text of a path, and valid UTF-8 is that text', () => {
  fc.assert(fc.property(fc.uint8Array(), (bytes) => pathBytes(pathText(bytes)).equals(bytes)));
  fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => pathText(Buffer.from(text)) === text));
});

it('names that differ in a byte that is not UTF-8 are different texts', () => {
  expect(pathText(Buffer.from([0x61, 0xff]))).not.toBe(pathText(Buffer.from([0x61, 0xfe])));
  expect(pathText(Buffer.from('a\ufffd'))).toBe('a\ufffd');
});
