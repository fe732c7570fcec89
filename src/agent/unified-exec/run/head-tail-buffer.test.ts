import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HeadTailBuffer } from './head-tail-buffer.ts';

const chunks = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 30 });

/** What the buffer must say, from the whole output. */
function naive(output: readonly number[], limit: number): { bytes: number[]; omitted: number } {
  if (output.length <= limit) return { bytes: [...output], omitted: 0 };
  const tail = Math.floor(limit / 2);
  const omitted = output.length - limit;
  const mark = [...Buffer.from(`\n... ${omitted} bytes omitted ...\n`)];
  return { bytes: [...output.slice(0, limit - tail), ...mark, ...output.slice(-tail)], omitted };
}

function filled(pieces: readonly Uint8Array[], limit: number): HeadTailBuffer {
  const buffer = new HeadTailBuffer(limit);
  for (const piece of pieces) buffer.push(piece);
  return buffer;
}

const all = (pieces: readonly Uint8Array[]): number[] => pieces.flatMap((piece) => [...piece]);

describe('a head-tail buffer', () => {
  it('keeps both ends and counts the middle, however the output is cut', () => {
    fc.assert(
      fc.property(chunks, fc.integer({ min: 2, max: 100 }), (pieces, limit) => {
        const buffer = filled(pieces, limit);
        const { bytes, omitted } = naive(all(pieces), limit);
        expect([...buffer.bytes]).toEqual(bytes);
        expect([buffer.omittedBytes, buffer.totalBytes]).toEqual([omitted, all(pieces).length]);
      }),
    );
  });

  it('is after a merge as if everything had been pushed into it', () => {
    fc.assert(
      fc.property(chunks, chunks, fc.integer({ min: 1, max: 50 }), (before, after, half) => {
        const merged = filled(before, half * 2);
        merged.merge(filled(after, half * 2));
        const pushed = filled([...before, ...after], half * 2);
        expect([...merged.bytes]).toEqual([...pushed.bytes]);
        expect([merged.omittedBytes, merged.totalBytes]).toEqual([pushed.omittedBytes, pushed.totalBytes]);
      }),
    );
  });

  it('omits nothing of exactly a mebibyte, and ten bytes of ten more', () => {
    const whole = new HeadTailBuffer();
    whole.push(Buffer.alloc(1_048_576, 'a'));
    const more = filled([Buffer.alloc(1_048_576, 'a'), Buffer.from('0123456789')], 1_048_576);

    expect([whole.omittedBytes, whole.text.length]).toEqual([0, 1_048_576]);
    expect(more.text.slice(524_288, 524_288 + 27)).toBe('\n... 10 bytes omitted ...\na');
    expect([more.totalBytes, more.text.slice(-10)]).toEqual([1_048_586, '0123456789']);
  });

  it('counts what never came', () => {
    const buffer = filled([Buffer.from('ab')], 4);
    buffer.omit(7);
    buffer.push(Buffer.from('cd'));

    expect([buffer.totalBytes, buffer.text]).toEqual([11, 'ab\n... 7 bytes omitted ...\ncd']);
  });
});
