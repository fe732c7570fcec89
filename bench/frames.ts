/** WebSocket opcodes (RFC 6455, section 5.2) the benchmark meets. */
export const opcodes = { continuation: 0x0, text: 0x1, close: 0x8, ping: 0x9, pong: 0xa } as const;

interface FrameOptions {
  opcode?: number;
  /** The key of a client; a server has none. */
  mask?: Buffer;
}

/** One complete frame. */
export function encodeFrame(payload: Buffer, options: FrameOptions = {}): Buffer {
  const frame = frameStart(payload.length, options, payload.length);
  const body = frame.subarray(frame.length - payload.length);
  payload.copy(body);
  if (options.mask) applyMask(body, options.mask);
  return frame;
}

/** The header of a frame with a payload of this length, with room for so much of it. */
export function frameStart(length: number, { opcode = opcodes.text, mask }: FrameOptions, room: number): Buffer {
  const lengthBytes = length < 126 ? 0 : length < 65536 ? 2 : 8;
  const bodyAt = 2 + lengthBytes + (mask ? 4 : 0);
  const frame = Buffer.allocUnsafe(bodyAt + room);
  frame[0] = 0x80 | opcode;
  frame[1] = (mask ? 0x80 : 0) | (lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127);
  if (lengthBytes === 2) frame.writeUInt16BE(length, 2);
  if (lengthBytes === 8) frame.writeBigUInt64BE(BigInt(length), 2);
  mask?.copy(frame, bodyAt - 4);
  return frame;
}

/** A copy with the mask of a payload, or of a part of one that starts at a multiple of four. */
export function masked(bytes: Buffer, mask: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  applyMask(copy, mask);
  return copy;
}

/** Masks or unmasks in place, a 32-bit word at a time from the first aligned byte on. */
function applyMask(bytes: Buffer, mask: Buffer): void {
  const { length } = bytes;
  const lead = (4 - (bytes.byteOffset & 3)) & 3;
  let at = 0;
  if (length >= lead + 4) {
    for (; at < lead; at++) bytes[at]! ^= mask[at]!;
    const words = new Int32Array(bytes.buffer, bytes.byteOffset + lead, (length - lead) >> 2);
    // A word holds its first byte lowest: x64 and arm64 are little-endian.
    const keyAt = (i: number) => mask[(lead + i) & 3]! << (i * 8);
    const key = keyAt(0) | keyAt(1) | keyAt(2) | keyAt(3);
    for (let i = 0; i < words.length; i++) words[i]! ^= key;
    at += words.length * 4;
  }
  for (; at < length; at++) bytes[at]! ^= mask[at & 3]!;
}

export interface FrameHandlers {
  /** The payload may point into the receive buffer: it is valid during the call only. */
  message(payload: Buffer): void;
  control(opcode: number, payload: Buffer): void;
}

interface PartialFrame {
  first: number;
  body: Buffer;
  filled: number;
}

/** Cuts a byte stream into messages; a payload that arrives whole is not copied. */
export class FrameReader {
  readonly #handlers: FrameHandlers;
  #carried: Buffer | undefined;
  #large: PartialFrame | undefined;
  readonly #fragments: Buffer[] = [];

  constructor(handlers: FrameHandlers) {
    this.#handlers = handlers;
  }

  feed(chunk: Buffer): void {
    let bytes = chunk;
    if (this.#large) {
      bytes = this.#fill(this.#large, chunk);
    } else if (this.#carried) {
      bytes = Buffer.concat([this.#carried, chunk]);
      this.#carried = undefined;
    }
    const consumed = this.#take(bytes);
    if (consumed < bytes.length) this.#carried = Buffer.from(bytes.subarray(consumed));
  }

  /** Copies into the unfinished large frame and returns what is left of the chunk. */
  #fill(large: PartialFrame, chunk: Buffer): Buffer {
    const copied = chunk.copy(large.body, large.filled);
    large.filled += copied;
    if (large.filled === large.body.length) {
      this.#large = undefined;
      this.#deliver(large.first, large.body);
    }
    return chunk.subarray(copied);
  }

  /** Delivers every whole frame and returns how many bytes need not be kept. */
  #take(bytes: Buffer): number {
    const end = bytes.length;
    let at = 0;
    while (end - at >= 2) {
      const first = bytes[at]!;
      const second = bytes[at + 1]!;
      const short = second & 0x7f;
      const bodyAt = at + (short < 126 ? 2 : short === 126 ? 4 : 10) + (second & 0x80 ? 4 : 0);
      if (bodyAt > end) break;
      const length =
        short < 126 ? short : short === 126 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2));
      if (bodyAt + length > end) {
        // A masked frame waits whole, so that it is unmasked in one piece; only the echo peer gets those.
        if (length <= 4096 || second & 0x80) break;
        const body = Buffer.allocUnsafe(length);
        this.#large = { first, body, filled: bytes.copy(body, 0, bodyAt, end) };
        return end;
      }
      const body = bytes.subarray(bodyAt, bodyAt + length);
      if (second & 0x80) applyMask(body, bytes.subarray(bodyAt - 4, bodyAt));
      this.#deliver(first, body);
      at = bodyAt + length;
    }
    return at;
  }

  #deliver(first: number, payload: Buffer): void {
    const final = (first & 0x80) !== 0;
    const opcode = first & 0x0f;
    if (opcode >= opcodes.close) {
      this.#handlers.control(opcode, payload);
    } else if (final && this.#fragments.length === 0) {
      this.#handlers.message(payload);
    } else {
      this.#fragments.push(Buffer.from(payload));
      if (final) this.#handlers.message(Buffer.concat(this.#fragments.splice(0)));
    }
  }
}
