import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CallOutput } from './call-output.ts';

const stream = fc.constantFrom('stdout' as const, 'stderr' as const);
const pieces = fc.array(fc.record({ stream, text: fc.string({ unit: 'binary', maxLength: 12 }) }), { maxLength: 40 });

describe('the output of a call', () => {
  it('is everything, in order, however the bytes were cut', () => {
    fc.assert(
      fc.property(pieces, fc.integer({ min: 1, max: 4 }), (printed, step) => {
        const output = new CallOutput(100_000);
        for (const { stream, text } of printed) {
          const bytes = Buffer.from(text);
          for (let at = 0; at < bytes.length; at += step) output.add(stream, bytes.subarray(at, at + step));
        }
        output.end();

        const joined = (only?: string) =>
          printed.flatMap(({ stream, text }) => (only === undefined || stream === only ? [text] : [])).join('');
        expect([output.text(), output.text('stdout'), output.text('stderr')]).toEqual([
          joined(),
          joined('stdout'),
          joined('stderr'),
        ]);
        expect(output.isTruncated).toBe(false);
      }),
    );
  });

  it('is its beginning and its end when it is too much', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme-ascii' })), fc.integer({ min: 2, max: 40 }), (texts, limit) => {
        const output = new CallOutput(limit);
        for (const text of texts) output.add('stdout', Buffer.from(text));
        const whole = texts.join('');
        const shown = output.text();
        const half = Math.floor(limit / 2);

        if (whole.length <= limit) expect(output.isTruncated).toBe(false);
        if (!output.isTruncated) {
          expect(shown).toBe(whole);
          return;
        }
        const [, head, omitted, tail] = /^([\s\S]*)\n\[(\d+) characters left out\]\n([\s\S]*)$/.exec(shown)!;
        expect(whole.startsWith(head!)).toBe(true);
        expect(whole.endsWith(tail!)).toBe(true);
        expect(head!.length).toBe(half);
        expect(tail!.length).toBeGreaterThanOrEqual(half);
        expect(tail!.length).toBeLessThanOrEqual(2 * half);
        expect(head!.length + Number(omitted) + tail!.length).toBe(whole.length);
      }),
    );
  });

  it('shows what is no text as such', () => {
    const output = new CallOutput(100);
    output.add('stdout', Buffer.from([0x61, 0xff, 0x62, 0xc3]));
    output.add('stderr', Buffer.from([0xef, 0xbb, 0xbf]));
    output.end();

    expect(output.text()).toBe('a\ufffdb\ufeff\ufffd');
  });
});
