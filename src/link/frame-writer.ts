import type { Socket } from 'node:net';

/**
 * Writes the text frames of a server. They are not masked, so header and message go into one buffer here, and the
 * small ones of one turn of the event loop leave in one write: a response costs one system call instead of one for
 * each of its parts.
 */
export class FrameWriter {
  readonly #socket: Socket;
  readonly #written: () => void;
  #batch: Buffer[] = [];

  constructor(socket: Socket, written: () => void) {
    this.#socket = socket;
    this.#written = written;
  }

  write(message: string | Uint8Array): void {
    const length = typeof message === 'string' ? Buffer.byteLength(message) : message.length;
    if (typeof message !== 'string' && length > MERGED_BYTES) {
      this.flush();
      this.#socket.cork();
      this.#socket.write(header(length, 0));
      this.#socket.write(message, this.#written);
      this.#socket.uncork();
      return;
    }
    const frame = header(length, length);
    const start = frame.length - length;
    if (typeof message === 'string') frame.write(message, start, 'utf8');
    else frame.set(message, start);
    if (this.#batch.push(frame) === 1) process.nextTick(() => this.flush());
  }

  /** Hands what is gathered to the socket now; whatever must come after it calls this first. */
  flush(): void {
    if (this.#batch.length === 0) return;
    const batch = this.#batch;
    this.#batch = [];
    this.#socket.write(batch.length === 1 ? batch[0]! : Buffer.concat(batch), this.#written);
  }
}

/** Above this, copying the message costs more than a second buffer in the write. */
const MERGED_BYTES = 8192;

const FINAL_TEXT = 0x81;

/** A buffer that starts with the header of a final text frame and has room for `room` bytes after it. */
function header(length: number, room: number): Buffer {
  const size = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(size + room);
  frame[0] = FINAL_TEXT;
  if (size === 2) frame[1] = length;
  else frame[1] = size === 4 ? 126 : 127;
  if (size === 4) frame.writeUInt16BE(length, 2);
  if (size === 10) frame.writeBigUInt64BE(BigInt(length), 2);
  return frame;
}
