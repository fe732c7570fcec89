import {
  CONTROL,
  FINAL,
  FINAL_TEXT,
  headerLength,
  KEY_BYTES,
  LONGEST_HEADER,
  MASKED,
  payloadLength,
} from './frame-header.ts';

/** Operations on bytes in native code. */
export interface ByteOperations {
  /** Copies `length` bytes to `offset` of the target and unmasks them. */
  unmask(source: Uint8Array, key: Uint8Array, target: Uint8Array, offset: number, length: number): void;
  /** Frees the memory of a chunk at once, so that the next one can use it before the garbage collector runs. */
  release(chunk: Uint8Array): void;
}

/** Takes messages that arrived whole. */
export interface MessageReceiver {
  /** Whether all earlier messages have been handled and another one may be handed over. */
  isOpen(): boolean;
  take(message: Uint8Array): void;
  /** Called after the last of the messages that came in one chunk. */
  consumed(): void;
}

/**
 * Reads the frames in the chunks of a socket before the `ws` package does. Small messages that arrive whole, as almost all do, go to the
 * receiver. Other frames are passed on, but the payload of a large one in one piece and unmasked, with a mask of zeros. A large payload
 * arrives in dozens of chunks; joining them while each is still in the processor's cache is cheaper than joining them at the end.
 */
export class FrameGatherer {
  readonly #pass: (piece: Buffer) => void;
  readonly #native: ByteOperations;
  readonly #receiver: MessageReceiver | undefined;
  /** The header that is being read, of which `#headerBytes` bytes have arrived. */
  readonly #header = Buffer.alloc(LONGEST_HEADER);
  #headerBytes = 0;
  /** Bytes of a small frame that have not arrived yet. */
  #small = 0;
  /** Whether the next frame continues the message of the last one. */
  #unfinished = false;
  #large: Buffer | undefined;
  #filled = 0;
  /** The masking key of the large frame, twice, so that the key rotated by any offset is a part of it. */
  readonly #key = Buffer.alloc(2 * KEY_BYTES);

  constructor(pass: (piece: Buffer) => void, native: ByteOperations, receiver?: MessageReceiver) {
    this.#pass = pass;
    this.#native = native;
    this.#receiver = receiver;
  }

  add(chunk: Buffer): void {
    const consumed = this.#takeWhole(chunk);
    if (consumed > 0) this.#receiver?.consumed();
    if (consumed < chunk.length) this.#gather(consumed === 0 ? chunk : chunk.subarray(consumed));
  }

  /** Passes on the gathered bytes of an unfinished frame. */
  end(): void {
    if (this.#large && this.#filled > 0) this.#pass(this.#large.subarray(0, this.#filled));
    this.#large = undefined;
  }

  /** Hands over the whole messages at the front of a chunk; gives their length in bytes. */
  #takeWhole(chunk: Buffer): number {
    const receiver = this.#receiver;
    let at = 0;
    if (!receiver || this.#headerBytes > 0 || this.#small > 0 || this.#large || this.#unfinished) return at;
    while (chunk.length - at >= SHORT_FRAME && chunk[at] === FINAL_TEXT && receiver.isOpen()) {
      const second = chunk[at + 1]!;
      const start = at + headerLength(second);
      // A frame without a mask is an error, which `ws` reports.
      if ((second & MASKED) === 0 || start > at + SHORT_FRAME) break;
      const end = start + payloadLength(chunk, at);
      if (end > chunk.length) break;
      const message = chunk.subarray(start, end);
      this.#native.unmask(message, chunk.subarray(start - KEY_BYTES, start), message, 0, message.length);
      receiver.take(message);
      at = end;
    }
    return at;
  }

  #gather(chunk: Buffer): void {
    let passed = 0;
    let shared = false; // whether the receiver of the pieces has a view of this chunk
    for (let at = 0; at < chunk.length; ) {
      if (this.#large) {
        at += this.#fill(this.#large, chunk, at);
        passed = at;
      } else if (this.#small > 0) {
        const skipped = Math.min(this.#small, chunk.length - at);
        this.#small -= skipped;
        at += skipped;
      } else {
        this.#header[this.#headerBytes++] = chunk[at++]!;
        const length = this.#payloadLength();
        if (length === undefined) continue;
        const isControl = (this.#header[0]! & CONTROL) !== 0;
        if (!isControl) this.#unfinished = (this.#header[0]! & FINAL) === 0;
        if (length >= LARGE_BYTES && length <= LARGEST_BYTES) {
          this.#takeKey(chunk, at);
          const before = chunk.subarray(passed, at);
          if (before.length > LONGEST_HEADER) shared = true;
          this.#pass(shared ? before : Buffer.from(before));
          this.#large = Buffer.allocUnsafeSlow(length);
          passed = at;
        } else {
          this.#small = length;
        }
        this.#headerBytes = 0;
      }
    }
    if (passed < chunk.length) this.#pass(passed === 0 ? chunk : chunk.subarray(passed));
    else if (!shared) this.#native.release(chunk);
  }

  #fill(large: Buffer, chunk: Buffer, at: number): number {
    const length = Math.min(chunk.length - at, large.length - this.#filled);
    const keyOffset = this.#filled % KEY_BYTES;
    const key = this.#key.subarray(keyOffset, keyOffset + KEY_BYTES);
    this.#native.unmask(chunk.subarray(at), key, large, this.#filled, length);
    this.#filled += length;
    if (this.#filled === large.length) {
      this.#large = undefined;
      this.#filled = 0;
      this.#pass(large);
    }
    return length;
  }

  /** Moves the key out of the header that ends here and leaves zeros, unless the key began in an earlier chunk. */
  #takeKey(chunk: Buffer, end: number): void {
    this.#key.fill(0);
    const isMasked = (this.#header[1]! & MASKED) !== 0;
    if (!isMasked || end < KEY_BYTES) return;
    for (const at of [0, KEY_BYTES]) chunk.copy(this.#key, at, end - KEY_BYTES, end);
    chunk.fill(0, end - KEY_BYTES, end);
  }

  /** Undefined until the header is complete. */
  #payloadLength(): number | undefined {
    if (this.#headerBytes < 2 || this.#headerBytes < headerLength(this.#header[1]!)) return undefined;
    return payloadLength(this.#header, 0);
  }
}

/** The longest header of a small frame; `ws` reads frames that are shorter than that. */
const SHORT_FRAME = 8;
/** Smaller frames come in one or two chunks anyway. */
const LARGE_BYTES = 64 * 1024;
/** Memory is allocated for the announced length, so a peer must not be able to announce too much. */
const LARGEST_BYTES = 16 * 1024 * 1024;
