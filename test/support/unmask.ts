import type { Unmask } from '../../src/link/frame-gatherer.ts';

/** Takes the mask off a WebSocket frame, or puts it on, a byte at a time. */
export const unmask: Unmask = (source, key, target, offset, length) => {
  for (let at = 0; at < length; at++) target[offset + at] = source[at]! ^ key[at % 4]!;
};
