import { unmask } from './unmask.ts';

export interface Frame {
  readonly header: Buffer;
  /** Masked. */
  readonly payload: Buffer;
  /** Unmasked. */
  readonly content: Buffer;
}

/** A frame with a payload of this length, masked or not. */
export function frame(length: number, masked: boolean): Frame {
  const header = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  header[0] = 0x81;
  header[1] = (masked ? 0x80 : 0) | (length < 126 ? length : length < 65_536 ? 126 : 127);
  if (header.length === 4) header.writeUInt16BE(length, 2);
  if (header.length === 10) header.writeBigUInt64BE(BigInt(length), 2);
  const key = Buffer.from(masked ? [0x81, 0xff, 0xff, 0x00] : []);
  const content = Buffer.alloc(length, `${length} bytes, `);
  const payload = Buffer.from(content);
  if (masked) unmask(content, key, payload, 0, length);
  return { header: Buffer.concat([header, key]), payload, content };
}

/** The unmasked payloads of frames. */
export function contents(bytes: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const short = bytes[at + 1]! & 0x7f;
    const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
    const length =
      short === 127 ? Number(bytes.readBigUInt64BE(at + 2)) : short === 126 ? bytes.readUInt16BE(at + 2) : short;
    const keyBytes = bytes[at + 1]! & 0x80 ? 4 : 0;
    const start = at + 2 + lengthBytes + keyBytes;
    const content = Buffer.from(bytes.subarray(start, start + length));
    if (keyBytes > 0) unmask(content, bytes.subarray(start - 4, start), content, 0, content.length);
    found.push(content);
    at = start + length;
  }
  return found;
}
