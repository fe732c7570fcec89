/** Bits of the first two bytes of a frame (RFC 6455, 5.2). */
export const FINAL = 0x80;
export const CONTROL = 0x08;
export const MASKED = 0x80;
/** The first byte of a text message in one frame. */
export const FINAL_TEXT = 0x81;
export const KEY_BYTES = 4;
export const LONGEST_HEADER = 14;

const LENGTH = 0x7f;
/** Values of the length bits that mean: the length follows in two, or in eight, bytes. */
const IN_TWO_BYTES = 126;
const IN_EIGHT_BYTES = 127;

const lengthBytes = (second: number): number => {
  const short = second & LENGTH;
  return short === IN_EIGHT_BYTES ? 8 : short === IN_TWO_BYTES ? 2 : 0;
};

/** The length of a header with this second byte. */
export const headerLength = (second: number): number => 2 + lengthBytes(second) + (second & MASKED ? KEY_BYTES : 0);

/** The length of the payload, read from the header that begins at `at` and is complete. */
export function payloadLength(bytes: Buffer, at: number): number {
  const second = bytes[at + 1]!;
  const size = lengthBytes(second);
  if (size === 0) return second & LENGTH;
  return size === 2 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2));
}

/** A buffer with the header of an unmasked text message of this length, and room for `room` bytes after it. */
export function startTextFrame(length: number, room: number): Buffer {
  const size = length < IN_TWO_BYTES ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(size + room);
  frame[0] = FINAL_TEXT;
  frame[1] = size === 2 ? length : size === 4 ? IN_TWO_BYTES : IN_EIGHT_BYTES;
  if (size === 4) {
    frame[2] = length >> 8;
    frame[3] = length & 0xff;
  }
  if (size === 10) frame.writeBigUInt64BE(BigInt(length), 2);
  return frame;
}
