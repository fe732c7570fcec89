import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EncodedChunk } from '../os/index.ts';
import { EncodedHeadTail } from './encoded-head-tail.ts';

/** A chunk as the addon makes it: base64 text. */
function outputChunk(bytes: Uint8Array): EncodedChunk {
  const buffer = Buffer.from(Buffer.from(bytes).toString('base64'));
  return { buffer, start: 0, end: buffer.length, byteLength: bytes.length };
}

describe('the head and the tail of a stream', () => {
  it('are the first and the last bytes, half of the limit each, and the bytes between are counted', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ minLength: 1, maxLength: 9 })), fc.nat(40), (parts, limit) => {
        const kept = new EncodedHeadTail(limit);
        for (const part of parts) kept.add(outputChunk(part));

        const { bytes, omittedBytes } = kept.snapshot();

        const all = parts.flatMap((part) => [...part]);
        const half = Math.floor(limit / 2);
        const omitted = Math.max(0, all.length - 2 * half);
        const expected = omitted === 0 ? all : [...all.slice(0, half), ...all.slice(half + omitted)];
        expect({ bytes: [...bytes], omittedBytes }).toEqual({ bytes: expected, omittedBytes: omitted });
      }),
      { numRuns: 1000 },
    );
  });

  it('are the same for chunks of all sizes, and every dropped chunk is reported once', () => {
    const size = fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 900, max: 1200 }), fc.constant(5000));
    fc.assert(
      fc.property(fc.array(size, { maxLength: 40 }), fc.nat(30_000), (sizes, limit) => {
        const reported: EncodedChunk[] = [];
        const kept = new EncodedHeadTail(limit, (chunk) => void reported.push(chunk));
        const stream = Buffer.alloc(sizes.reduce((sum, bytes) => sum + bytes, 0)).map((_, at) => at % 251);
        let at = 0;
        for (const bytes of sizes) {
          kept.add(outputChunk(stream.subarray(at, at + bytes)));
          at += bytes;
        }

        const { bytes, omittedBytes } = kept.snapshot();

        const half = Math.floor(limit / 2);
        const omitted = Math.max(0, stream.length - 2 * half);
        const middle = omitted === 0 ? stream.length : half;
        expect(omittedBytes).toBe(omitted);
        expect(Buffer.concat([stream.subarray(0, middle), stream.subarray(middle + omitted)]).equals(bytes)).toBe(true);
        expect(new Set(reported).size).toBe(reported.length);
      }),
      { numRuns: 200 },
    );
  });

  it('keep no chunk of a single byte', () => {
    const reported = new Set<EncodedChunk>();
    const kept = new EncodedHeadTail(1024 * 1024, (chunk) => void reported.add(chunk));
    const chunks = Array.from({ length: 1000 }, () => outputChunk(Buffer.of(7)));

    for (const chunk of chunks) kept.add(chunk);

    expect(reported.size).toBe(1000);
  });

  it('are the whole stream while it is short', () => {
    const kept = new EncodedHeadTail(10);
    const moments = ['', 'abc', 'defgh', 'ij'].map((part) => {
      if (part !== '') kept.add(outputChunk(Buffer.from(part)));
      return Buffer.from(kept.snapshot().bytes).toString();
    });

    expect(moments).toEqual(['', 'abc', 'abcdefgh', 'abcdefghij']);
  });
});
