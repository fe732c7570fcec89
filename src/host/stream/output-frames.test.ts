import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EncodedChunk } from '../os/index.ts';
import { OutputFrames, readResultParts } from './output-frames.ts';

/** A chunk as the addon makes it, with this much room around its text. */
function outputChunk(bytes: Uint8Array, headroom = 192, tailroom = 8): EncodedChunk {
  const text = Buffer.from(Buffer.from(bytes).toString('base64'));
  const buffer = Buffer.concat([Buffer.alloc(headroom, '?'), text, Buffer.alloc(tailroom, '?')]);
  return { buffer, start: headroom, end: headroom + text.length, byteLength: bytes.length };
}

const framesOf = (processId: string) => new OutputFrames('process/output', { processId });

const processId = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.string({ minLength: 80, maxLength: 400 }),
  fc.constantFrom('', '1-123e4567-e89b-42d3-a456-426614174000', '"\\\n\u2028', '\u00fc', '\ud83d', '\ud83d\ude00'),
);
const seq = fc.oneof(fc.integer({ min: 1, max: 1000 }), fc.maxSafeNat());
const stream = fc.constantFrom('stdout' as const, 'stderr' as const, 'pty' as const);
const bytes = fc.uint8Array({ minLength: 1, maxLength: 300 });

const base64 = (data: Uint8Array): string => Buffer.from(data).toString('base64');

describe('messages written without JSON.stringify', () => {
  it('process/output equals the text of JSON.stringify, with or without room around the chunk', () => {
    const room = fc.constantFrom([192, 8], [0, 0], [96, 3], [192, 2], [1000, 8]);
    fc.assert(
      fc.property(processId, seq, stream, bytes, room, (id, number, name, data, [headroom, tailroom]) => {
        const chunk = outputChunk(data, headroom, tailroom);

        const message = framesOf(id).notification({ seq: number, stream: name, chunk });

        const params = { processId: id, seq: number, stream: name, chunk: base64(data) };
        expect(Buffer.from(message).toString()).toBe(JSON.stringify({ method: 'process/output', params }));
        expect(chunk.buffer.toString('latin1', chunk.start, chunk.end)).toBe(base64(data));
      }),
      { numRuns: 500 },
    );
  });

  it('process/output is written around the chunk where the room suffices', () => {
    const chunk = outputChunk(Buffer.from('text'));

    const message = framesOf('p').notification({ seq: 1, stream: 'stdout', chunk });

    expect(message.buffer).toBe(chunk.buffer.buffer);
  });

  it('the result of process/read equals the text of JSON.stringify, also for chunks that were sent before', () => {
    const retained = fc.array(fc.tuple(seq, stream, bytes, fc.boolean()), { maxLength: 5 });
    fc.assert(
      fc.property(retained, seq, (chunks, nextSeq) => {
        const facts = { nextSeq, exited: true, exitCode: 3, closed: false, failure: null, sandboxDenied: false };
        const kept = chunks.map(([number, name, data, sent]) => {
          const chunk = outputChunk(data);
          if (sent) framesOf('p').notification({ seq: number, stream: name, chunk: chunk });
          return { seq: number, stream: name, chunk };
        });

        const text = Buffer.concat(readResultParts(kept, facts)).toString();

        const plain = chunks.map(([number, name, data]) => ({ seq: number, stream: name, chunk: base64(data) }));
        expect(text).toBe(JSON.stringify({ chunks: plain, ...facts }));
      }),
      { numRuns: 300 },
    );
  });
});
