import type { Socket } from 'node:net';
import { concatBytes } from '../../base/index.ts';
import type { SealedFrame } from '../index.ts';

/**
 * Writes a frame as one binary message, past the `ws` package, which would copy all of it to mask it. A mask keeps bytes
 * that somebody chose from appearing on the wire; encryption has done that already, so the key is zero.
 */
export function writeSealedFrame(socket: Socket, frame: SealedFrame, length: number, written: () => void): void {
  const [head, ...payload] = frame;
  if (length < MERGED_BYTES) {
    socket.write(concatBytes([messageHeader(length), ...frame]), written);
    return;
  }
  socket.cork();
  socket.write(concatBytes([messageHeader(length), head!]));
  for (const part of payload.slice(0, -1)) socket.write(part);
  socket.write(payload.at(-1)!, written);
  socket.uncork();
}

/** Below this, copying the parts costs less than handing over each. */
const MERGED_BYTES = 8192;

const FINAL_BINARY = 0x82;
const MASKED = 0x80;

/** Ends with the four bytes of the key. */
function messageHeader(length: number): Uint8Array {
  const size = length < 126 ? 6 : length < 65_536 ? 8 : 14;
  const header = Buffer.alloc(size);
  header[0] = FINAL_BINARY;
  header[1] = MASKED | (size === 6 ? length : size === 8 ? 126 : 127);
  if (size === 8) header.writeUInt16BE(length, 2);
  if (size === 14) header.writeUIntBE(length, 4, 6);
  return header;
}
