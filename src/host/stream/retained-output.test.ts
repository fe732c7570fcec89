import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type NumberedChunk, RetainedOutput } from './retained-output.ts';

const chunkOf = (seq: number, byteLength: number): NumberedChunk => ({
  seq,
  stream: 'stdout',
  chunk: { buffer: Buffer.alloc(byteLength), start: 0, end: byteLength, byteLength },
});

const seqs = (chunks: readonly NumberedChunk[]): number[] => chunks.map(({ seq }) => seq);

/** Chunks of these sizes, numbered from 1, which the client has all received. */
function settled(sizes: readonly number[], limits = { bytes: 1000, chunks: 1000 }): RetainedOutput {
  const output = new RetainedOutput(limits);
  for (const [index, size] of sizes.entries()) {
    output.add(chunkOf(index + 1, size));
    output.settle(index + 1);
  }
  return output;
}

type Step =
  | { readonly type: 'print'; readonly bytes: number; readonly skip: boolean }
  | { readonly type: 'settle'; readonly seq: number }
  | { readonly type: 'read'; readonly seq: number; readonly maxBytes: number | undefined };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    arbitrary: fc.record({
      type: fc.constant('print' as const),
      bytes: fc.integer({ min: 1, max: 12 }),
      skip: fc.boolean(),
    }),
    weight: 4,
  },
  { arbitrary: fc.record({ type: fc.constant('settle' as const), seq: fc.nat(60) }), weight: 2 },
  {
    arbitrary: fc.record({
      type: fc.constant('read' as const),
      seq: fc.nat(60),
      maxBytes: fc.option(fc.nat(40), { nil: undefined }),
    }),
    weight: 1,
  },
);

/** The rule of `maxBytes`: the first chunk always, a further one only if the total stays within. */
function within(chunks: readonly NumberedChunk[], maxBytes: number | undefined): NumberedChunk[] {
  const taken: NumberedChunk[] = [];
  const total = () => taken.reduce((sum, { chunk }) => sum + chunk.byteLength, 0);
  for (const candidate of chunks) {
    if (maxBytes !== undefined && taken.length > 0 && total() >= maxBytes) break;
    if (maxBytes !== undefined && taken.length > 0 && total() + candidate.chunk.byteLength > maxBytes) break;
    taken.push(candidate);
  }
  return taken;
}

describe('retained output', () => {
  it('behaves like a plain list that drops the oldest chunk once the client has received it', () => {
    const limits = fc.record({ bytes: fc.integer({ min: 1, max: 40 }), chunks: fc.integer({ min: 1, max: 8 }) });
    fc.assert(
      fc.property(limits, fc.array(step, { maxLength: 60 }), (bounds, steps) => {
        const output = new RetainedOutput(bounds);
        let list: NumberedChunk[] = [];
        let nextSeq = 1;
        let settledSeq = 0;
        let evictedSeq = 0;
        const bytes = (chunks: readonly NumberedChunk[]) =>
          chunks.reduce((sum, { chunk }) => sum + chunk.byteLength, 0);
        const unsettled = () => list.filter(({ seq }) => seq > settledSeq);
        for (const action of steps) {
          if (action.type === 'settle') {
            const before = unsettled().length;
            settledSeq = Math.max(settledSeq, Math.min(action.seq, nextSeq - 1));
            expect(output.settle(action.seq)).toBe(unsettled().length < before);
          } else if (action.type === 'read') {
            const wanted = list.filter(({ seq }) => seq > action.seq);
            expect(seqs(output.after(action.seq, action.maxBytes))).toEqual(seqs(within(wanted, action.maxBytes)));
          } else {
            const room =
              unsettled().length === 0 ||
              (bytes(unsettled()) + action.bytes <= bounds.bytes && unsettled().length < bounds.chunks);
            expect(output.hasRoom(action.bytes)).toBe(room);
            if (!room) continue;
            if (action.skip) nextSeq++;
            const chunk = chunkOf(nextSeq++, action.bytes);
            output.add(chunk);
            list = [...list, chunk];
            while ((bytes(list) > bounds.bytes || list.length > bounds.chunks) && list[0]!.seq <= settledSeq) {
              evictedSeq = list[0]!.seq;
              list = list.slice(1);
            }
          }
          expect(seqs(output.after(0))).toEqual(seqs(list));
          expect([output.bytes, output.evictedSeq, output.oldestSeq]).toEqual([bytes(list), evictedSeq, list[0]?.seq]);
        }
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    [undefined, [1, 2, 3]],
    [0, [1]],
    [1, [1]],
    [4, [1]],
    [7, [1]],
    [8, [1, 2]],
    [9, [1, 2]],
    [100, [1, 2, 3]],
  ])('of three chunks of four bytes read with maxBytes %s is %j', (maxBytes, expected) => {
    expect(seqs(settled([4, 4, 4]).after(0, maxBytes))).toEqual(expected);
  });

  it('starts at the oldest chunk that is left for a late reader', () => {
    const output = settled([400, 400, 400]);

    expect({ chunks: seqs(output.after(0)), evicted: output.evictedSeq }).toEqual({ chunks: [2, 3], evicted: 1 });
  });

  it('is right after many thousand evictions', () => {
    const output = settled(Array(20_000).fill(10), { bytes: 1000, chunks: 1000 });

    expect(seqs(output.after(0))).toEqual(Array.from({ length: 100 }, (_, index) => 19_901 + index));
    expect(seqs(output.after(19_999))).toEqual([20_000]);
  });

  it('frees the memory of evicted chunks', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const output = new RetainedOutput({ bytes: 1000, chunks: 1000 });
    const dropped = Array.from({ length: 500 }, (_, index) => {
      const retained = chunkOf(index + 1, 1000);
      output.add(retained);
      output.settle(index + 1);
      return new WeakRef(retained.chunk.buffer);
    }).slice(0, -1);
    await new Promise((resolve) => setImmediate(resolve));

    collectGarbage();

    expect(dropped.filter((chunk) => chunk.deref() !== undefined).length).toBeLessThan(100);
  });
});
