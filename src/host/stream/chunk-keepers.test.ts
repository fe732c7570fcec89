import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { EncodedChunk } from '../os/index.ts';
import { ChunkKeepers } from './chunk-keepers.ts';

const chunkOf = (byteLength: number): EncodedChunk => {
  const buffer = Buffer.from(new ArrayBuffer(byteLength));
  return { buffer, start: 0, end: byteLength, byteLength };
};

describe('the memory of a chunk', () => {
  it('is given back when the last keeper drops it, and not before', () => {
    const keepers = new ChunkKeepers();
    const chunk = chunkOf(16_384);
    keepers.keep(chunk, 2);
    keepers.keep(chunk);

    const lengths = [1, 2, 3].map(() => {
      keepers.drop(chunk);
      return chunk.buffer.length;
    });

    expect(lengths).toEqual([16_384, 16_384, 0]);
  });

  it('is left to the collector when the chunk is small', () => {
    const keepers = new ChunkKeepers();
    const chunk = chunkOf(16_383);
    keepers.keep(chunk);

    keepers.drop(chunk);

    expect(chunk.buffer.length).toBe(16_383);
  });

  it('is left to the collector when a keeper is lost', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const keepers = new ChunkKeepers();
    const lost = Array.from({ length: 100 }, () => {
      const chunk = chunkOf(1000);
      keepers.keep(chunk, 2);
      keepers.drop(chunk);
      return new WeakRef(chunk);
    });
    await new Promise((resolve) => setImmediate(resolve));

    collectGarbage();
    keepers.keep(chunkOf(1));

    expect(lost.filter((chunk) => chunk.deref() !== undefined).length).toBeLessThan(10);
  });
});
