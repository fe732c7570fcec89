import type { ByteHandling } from '../../src/link/websocket/frame-gatherer.ts';

/** Takes the mask off a WebSocket frame, or puts it on, a byte at a time. */
export const unmask: ByteHandling['unmask'] = (source, key, target, offset, length) => {
  for (let at = 0; at < length; at++) target[offset + at] = source[at]! ^ key[at % 4]!;
};

/** What was given back is somebody else's at once: whoever still reads it finds something else. */
export const byteHandling: ByteHandling = { unmask, release: (piece) => piece.fill(0xaa) };
