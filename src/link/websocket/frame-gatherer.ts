import type { Socket } from 'node:net';
import { FINAL_TEXT } from './frame-writer.ts';

/** What is done to bytes as they arrive. */
export interface ByteHandling {
  /** Copies bytes without their mask: `length` of them, to `offset` of the target. */
  unmask(source: Uint8Array, key: Uint8Array, target: Uint8Array, offset: number, length: number): void;
  /** Takes the memory of a piece that nobody needs any more: the next piece can have it, before the collector comes. */
  release(piece: Uint8Array): void;
}

/** Where messages go that need nothing but their mask taken off, past whoever reads the socket. */
export interface Shortcut {
  /** Whether everything that came before has been dealt with, and more is wanted. */
  isOpen(): boolean;
  take(message: Uint8Array): void;
  /** Called after the last of those that came together. */
  taken(): void;
}

/**
 * Has the payload of a large frame arrive in one piece, and unmasked. It comes in dozens; putting them together as they
 * come, while each is still in the processor's cache and the next on its way, is cheaper than doing so at the end. What
 * comes out are the same frames, with other cuts between pieces and some with a mask of zeros, so whoever reads them from
 * the socket need not know. Small messages that came whole, which almost all do, may take a shortcut instead: the way
 * through the socket's stream takes longer than answering them.
 */
export function gatherFrames(socket: Socket, handling: ByteHandling, shortcut?: Shortcut): void {
  // Who has sent something before the handshake was over is in the middle of a frame, nobody knows where.
  if (socket.readableLength > 0) return;
  const push = socket.push.bind(socket);
  const gatherer = new FrameGatherer(
    (piece) => {
      roomy = push(piece);
    },
    handling,
    shortcut,
  );
  let roomy = true;
  socket.push = (chunk: Buffer | null) => {
    roomy = true;
    try {
      if (chunk === null) gatherer.end();
      else gatherer.add(chunk);
    } catch (error) {
      socket.destroy(error as Error); // out of memory, for example: the end of this connection alone
      return false;
    }
    return chunk === null ? push(null) : roomy;
  };
}

export class FrameGatherer {
  readonly #pass: (piece: Buffer) => void;
  readonly #handling: ByteHandling;
  readonly #shortcut: Shortcut | undefined;
  /** The header that is being read: at most 14 bytes, of which so many are there. */
  readonly #header = Buffer.alloc(LONGEST_HEADER);
  #headerBytes = 0;
  /** How much of a small frame is still to come. */
  #small = 0;
  /** Whether the next frame belongs to the message of the last one. */
  #unfinished = false;
  #large: Buffer | undefined;
  #filled = 0;
  /** The key of the mask that the large frame has, twice, so that any turn of it is a part. */
  readonly #key = Buffer.alloc(2 * KEY_BYTES);

  constructor(pass: (piece: Buffer) => void, handling: ByteHandling, shortcut?: Shortcut) {
    this.#pass = pass;
    this.#handling = handling;
    this.#shortcut = shortcut;
  }

  add(chunk: Buffer): void {
    const taken = this.#takeShortcut(chunk);
    if (taken > 0) this.#shortcut?.taken();
    if (taken < chunk.length) this.#gather(taken === 0 ? chunk : chunk.subarray(taken));
  }

  /** Nothing more comes: what was gathered goes on as it is. */
  end(): void {
    if (this.#large && this.#filled > 0) this.#pass(this.#large.subarray(0, this.#filled));
    this.#large = undefined;
  }

  /** Takes the messages off the front of a chunk that came whole; where the rest begins. */
  #takeShortcut(chunk: Buffer): number {
    const shortcut = this.#shortcut;
    let at = 0;
    if (!shortcut || this.#headerBytes > 0 || this.#small > 0 || this.#large || this.#unfinished) return at;
    while (chunk.length - at >= SHORT_FRAME && chunk[at] === FINAL_TEXT && shortcut.isOpen()) {
      const short = chunk[at + 1]! - MASKED; // negative without a mask, which is for others to complain about
      const start = at + (short === 126 ? 4 : 2) + KEY_BYTES;
      const end = start + (short === 126 ? chunk.readUInt16BE(at + 2) : short);
      if (short < 0 || short === 127 || end > chunk.length) break;
      const message = chunk.subarray(start, end);
      this.#handling.unmask(message, chunk.subarray(start - KEY_BYTES, start), message, 0, message.length);
      shortcut.take(message);
      at = end;
    }
    return at;
  }

  #gather(chunk: Buffer): void {
    let passed = 0;
    let lent = false; // to whoever reads the pieces
    for (let at = 0; at < chunk.length; ) {
      if (this.#large) {
        at += this.#fill(this.#large, chunk, at);
        passed = at;
      } else if (this.#small > 0) {
        const taken = Math.min(this.#small, chunk.length - at);
        this.#small -= taken;
        at += taken;
      } else {
        this.#header[this.#headerBytes++] = chunk[at++]!;
        const length = this.#payloadLength();
        if (length === undefined) continue;
        const isControl = (this.#header[0]! & CONTROL) !== 0;
        if (!isControl) this.#unfinished = (this.#header[0]! & FINAL) === 0;
        if (length >= LARGE_BYTES && length <= LARGEST_BYTES) {
          this.#takeKey(chunk, at);
          const before = chunk.subarray(passed, at);
          if (before.length > LONGEST_HEADER) lent = true;
          this.#pass(lent ? before : Buffer.from(before));
          this.#large = Buffer.allocUnsafeSlow(length);
          passed = at;
        } else {
          this.#small = length;
        }
        this.#headerBytes = 0;
      }
    }
    if (passed < chunk.length) this.#pass(passed === 0 ? chunk : chunk.subarray(passed));
    else if (!lent) this.#handling.release(chunk);
  }

  #fill(large: Buffer, chunk: Buffer, at: number): number {
    const taken = Math.min(chunk.length - at, large.length - this.#filled);
    const turn = this.#filled % KEY_BYTES;
    this.#handling.unmask(chunk.subarray(at), this.#key.subarray(turn, turn + KEY_BYTES), large, this.#filled, taken);
    this.#filled += taken;
    if (this.#filled === large.length) {
      this.#large = undefined;
      this.#filled = 0;
      this.#pass(large);
    }
    return taken;
  }

  /** Keeps the key of the header that ends here and puts zeros in its place, unless some of it has been passed on. */
  #takeKey(chunk: Buffer, end: number): void {
    this.#key.fill(0);
    const isMasked = (this.#header[1]! & MASKED) !== 0;
    if (!isMasked || end < KEY_BYTES) return;
    for (const at of [0, KEY_BYTES]) chunk.copy(this.#key, at, end - KEY_BYTES, end);
    chunk.fill(0, end - KEY_BYTES, end);
  }

  /** Known once the header is complete. */
  #payloadLength(): number | undefined {
    const [header, have] = [this.#header, this.#headerBytes];
    if (have < 2) return undefined;
    const short = header[1]! & 0x7f;
    const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
    if (have < 2 + lengthBytes + (header[1]! & MASKED ? KEY_BYTES : 0)) return undefined;
    if (lengthBytes === 0) return short;
    return lengthBytes === 2 ? header.readUInt16BE(2) : Number(header.readBigUInt64BE(2));
  }
}

const FINAL = 0x80;
const CONTROL = 0x08;
const MASKED = 0x80;
/** The longest header of a small frame. A frame that is shorter altogether can go the long way. */
const SHORT_FRAME = 8;
const KEY_BYTES = 4;
const LONGEST_HEADER = 14;
/** Smaller ones come in one or two pieces anyway. */
const LARGE_BYTES = 64 * 1024;
/** Memory is set aside for what is announced, so it must not be announced too cheaply. */
const LARGEST_BYTES = 16 * 1024 * 1024;
