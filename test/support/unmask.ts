import type { ByteOperations } from '../../src/link/websocket/frame-gatherer.ts';

/** Takes the mask off a WebSocket frame, or puts it on, a byte at a time. */
export const unmask: ByteOperations['unmask'] = (source, key, target, offset, length) => {
  for (let at = 0; at < length; at++) target[offset + at] = source[at]! ^ key[at % 4]!;
};

/** Overwrites a released chunk at once, so that a later reader of it finds other bytes. */
export const byteOperations: ByteOperations = { unmask, release: (chunk) => chunk.fill(0xaa) };
