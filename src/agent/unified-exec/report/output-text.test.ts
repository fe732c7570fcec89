import { expect, it } from 'vitest';
import { HeadTail } from '../../../base/index.ts';
import { outputText } from './output-text.ts';

function textOf(output: string, limit: number): string {
  const kept = new HeadTail(limit);
  kept.add(Buffer.from(output));
  return outputText(kept).text;
}

it('kept output has a note in place of omitted bytes, and none where it is complete', () => {
  const mebibyte = 'a'.repeat(1_048_576);
  const longer = textOf(`${mebibyte}0123456789`, 1_048_576);

  expect([textOf('abcd', 4), textOf('abcdef', 4)]).toEqual(['abcd', 'ab\n... 2 bytes omitted ...\nef']);
  expect(textOf(mebibyte, 1_048_576)).toBe(mebibyte);
  expect(longer.slice(524_288, 524_288 + 27)).toBe('\n... 10 bytes omitted ...\na');
  expect(longer.slice(-10)).toBe('0123456789');
});
