import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HeadTail } from '../../../base/index.ts';
import { outputText } from './output-text.ts';
import { fitOutput } from './truncation.ts';

const printed = (text: string) => ({ text, totalBytes: Buffer.byteLength(text), omittedBytes: 0 });
const sequence = (last: number): string => Array.from({ length: last }, (_, index) => `${index + 1}\n`).join('');

describe('output and its budget', () => {
  it('is left alone where it fits', () => {
    expect(fitOutput(printed('x'.repeat(200)), 50)).toBe('x'.repeat(200));
  });

  it('loses its middle where it does not', () => {
    const text = sequence(200);
    expect(fitOutput(printed(text), 50)).toBe(
      `Warning: truncated output (original token count: 173)\nTotal output lines: 200\n\n${text.slice(0, 100)}…123 tokens truncated…${text.slice(-100)}`,
    );
  });

  it('is nothing but a note where there is no budget', () => {
    expect(fitOutput(printed('aaaa'), 0)).toBe(
      'Warning: truncated output (original token count: 1)\nTotal output lines: 1\n\n…1 tokens truncated…',
    );
  });

  it('says how much was not even kept, in place of the lines', () => {
    const kept = new HeadTail(1_048_576);
    kept.add(Buffer.alloc(1_048_586, 'a'));

    const fitted = fitOutput(outputText(kept), 10);

    expect(fitted).toBe(
      `Warning: truncated output (original token count: 262147)\n... 10 bytes omitted ...\n\n${'a'.repeat(20)}…262141 tokens truncated…${'a'.repeat(20)}`,
    );
  });

  it('says so once where the note of it survives inside', () => {
    const text = `head\n... 10 bytes omitted ...\n${'t'.repeat(100)}`;
    const fitted = fitOutput({ text, totalBytes: 114, omittedBytes: 10 }, 30);
    expect(fitted.split('\n').slice(0, 2)).toEqual(['Warning: truncated output (original token count: 29)', '']);
    expect(fitted.match(/bytes omitted/g)).toHaveLength(1);
  });

  it('never ends within a character, and its two ends are within the budget', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), fc.nat(40), (text, tokens) => {
        const fitted = fitOutput(printed(text), tokens);
        if (fitted === text) return;
        const [left, right] = fitted.slice(fitted.indexOf('\n\n') + 2).split(/…\d+ tokens truncated…/);
        expect(text.startsWith(left!) && text.endsWith(right!)).toBe(true);
        expect(Buffer.byteLength(`${left}${right}`)).toBeLessThanOrEqual(tokens * 4);
      }),
    );
  });
});
