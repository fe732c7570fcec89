import { expect, it } from 'vitest';
import { limits } from './limits.ts';

it('the limits both sides rely on are those of the reference', () => {
  expect(limits).toMatchObject({
    messageBytes: 67_108_864,
    valuesPerMessage: 262_144,
    retainedOutputBytes: 1_048_576,
    retainedChunks: 50_000,
    rememberedWriteIds: 4096,
    closedProcessMs: 30_000,
    detachedSessionMs: 30_000,
    pingIntervalMs: 30_000,
    serverRequestsInFlight: 256,
  });
});
