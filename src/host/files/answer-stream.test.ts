import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerStream } from './answer-stream.ts';

const HEAD_BYTES = 192;

function answer(id: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32LE(payload.length, 0);
  head.writeUInt32LE(id, 4);
  return Buffer.concat([head, payload]);
}

describe('the answers of a helper', () => {
  it('are put together however their bytes are cut into pieces', () => {
    const payloads = fc.array(fc.uint8Array({ maxLength: 500 }), { maxLength: 6 });
    fc.assert(
      fc.property(payloads, fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1 }), (contents, cuts) => {
        const received: Buffer[] = [];
        const stream = new AnswerStream((whole) => received.push(whole));
        const bytes = Buffer.concat(contents.map((payload, id) => answer(id, payload)));
        for (let at = 0, n = 0; at < bytes.length; n++) {
          const length = cuts[n % cuts.length]!;
          stream.push(bytes.subarray(at, at + length));
          at += length;
        }
        expect(received.map((whole) => whole.subarray(0, -8))).toEqual(
          contents.map((payload, id) => answer(id, payload)),
        );
      }),
    );
  });
});
