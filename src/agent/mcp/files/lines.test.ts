import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeUtf8 } from '../../../base/index.ts';
import { readLines } from './lines.ts';

async function* blocks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const read = (text: string, first: number, limit: number, size = 7) =>
  readLines(blocks(encodeUtf8(text), size), first, limit);

describe('lines of a text', () => {
  it('are what splitting the whole text gives, however it comes in', async () => {
    const line = fc.string({ unit: 'grapheme', maxLength: 6 }).filter((text) => !/[\n\0\ufeff]/.test(text));

    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { maxLength: 12 }),
        fc.boolean(),
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 9 }),
        async (lines, endsWithNewline, first, limit, size) => {
          const text = lines.join('\n') + (endsWithNewline ? '\n' : '');
          const all = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
          fc.pre(first <= Math.max(all.length, 1));
          const wanted = all.slice(first - 1, first - 1 + limit);
          const next = first + wanted.length;

          expect(await read(text, first, limit, size)).toEqual({
            content: wanted.join(''),
            nextLine: next <= all.length ? next : undefined,
          });
        },
      ),
    );
  });

  it('are read no further than asked', async () => {
    let given = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        given++;
        yield encodeUtf8('line\n');
      }
    }

    expect(await readLines(endless(), 1, 3)).toEqual({ content: 'line\nline\nline\n', nextLine: 4 });
    expect(given).toBe(4);
  });

  it('are at most 2000, and 256 Ki characters', async () => {
    const { content, nextLine } = await read('x\n'.repeat(3_000), 1, 3_000, 4_096);
    const wide = await read(`${'y'.repeat(300_000)}\nz\n`, 1, 10, 65_536);

    expect([content.length, nextLine]).toEqual([4_000, 2_001]);
    expect(wide).toEqual({ content: `${'y'.repeat(262_144)}…\n`, nextLine: 2 });
  });

  it('are not there beyond the end, nor in binary files', async () => {
    await expect(read('a\nb\n', 4, 1)).rejects.toThrow('it has 2 whole lines, so there is no line 4');
    await expect(read('a\0b', 1, 1)).rejects.toThrow('it is not a text file: it has NUL bytes');
    expect(await read('', 1, 1)).toEqual({ content: '', nextLine: undefined });
  });
});
