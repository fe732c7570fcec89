import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HeadTail } from './head-tail.ts';

const pieces = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 30 });

/** Both ends and the count of the bytes between them, from the whole output. */
function expected(output: readonly number[], limit: number) {
  if (output.length <= limit) return { bytes: [...output], omittedBytes: 0, totalBytes: output.length };
  const head = Math.ceil(limit / 2);
  const bytes = [...output.slice(0, head), ...output.slice(output.length - (limit - head))];
  return { bytes, omittedBytes: output.length - limit, totalBytes: output.length };
}

function filled(parts: readonly Uint8Array[], limit: number): HeadTail {
  const kept = new HeadTail(limit);
  for (const part of parts) kept.add(part);
  return kept;
}

const contents = (kept: HeadTail) => ({
  bytes: [...kept.bytes],
  omittedBytes: kept.omittedBytes,
  totalBytes: kept.totalBytes,
});

const all = (parts: readonly Uint8Array[]): number[] => parts.flatMap((part) => [...part]);

describe('head and tail', () => {
  it('are the first and the last half of the limit, and the bytes between are counted, however the output is cut', () => {
    fc.assert(
      fc.property(pieces, fc.nat(100), (parts, limit) => {
        expect(contents(filled(parts, limit))).toEqual(expected(all(parts), limit));
      }),
    );
  });

  it('are after a merge as if all bytes had been added to the first', () => {
    fc.assert(
      fc.property(pieces, pieces, fc.nat(50), (before, after, half) => {
        const merged = filled(before, half * 2);
        merged.merge(filled(after, half * 2));
        expect(contents(merged)).toEqual(contents(filled([...before, ...after], half * 2)));
      }),
    );
  });

  it('count bytes that were lost before', () => {
    const kept = filled([Buffer.from('ab')], 4);
    kept.omit(7);
    kept.add(Buffer.from('cd'));

    expect(contents(kept)).toEqual({ bytes: [...Buffer.from('abcd')], omittedBytes: 7, totalBytes: 11 });
  });

  it('do not keep the memory of the pieces', () => {
    const piece = Buffer.from('ab');
    const kept = filled([piece], 4);
    piece.fill('x');

    expect(Buffer.from(kept.bytes).toString()).toBe('ab');
  });
});
