import type { Socket } from 'node:net';

/** Has the system take bytes at once, as many as it can if none wait in the socket; how many it took. */
export type SendNow = (socket: Socket, bytes: Uint8Array, more?: Uint8Array) => number;

/**
 * Writes the text frames of a server. They are not masked, so header and message go into one buffer here, and the
 * small ones of one turn of the event loop leave in one write: a response costs one system call instead of one for
 * each of its parts. Only what the system does not take at once waits in the socket.
 */
export class FrameWriter {
  readonly #socket: Socket;
  readonly #sendNow: SendNow;
  readonly #written: () => void;
  #batch: Buffer[] = [];
  #held = false;

  /** `written` is called when the system has taken what had to wait. */
  constructor(socket: Socket, sendNow: SendNow, written: () => void) {
    this.#socket = socket;
    this.#sendNow = sendNow;
    this.#written = written;
  }

  write(message: string | Uint8Array): void {
    const length = typeof message === 'string' ? Buffer.byteLength(message) : message.length;
    if (length > MERGED_BYTES) {
      this.flush();
      this.#send(header(length, 0), typeof message === 'string' ? Buffer.from(message) : message);
      return;
    }
    const frame = header(length, length);
    const start = frame.length - length;
    if (typeof message === 'string') frame.write(message, start, 'utf8');
    else frame.set(message, start);
    if (this.#batch.push(frame) === 1 && !this.#held) process.nextTick(() => this.flush());
  }

  /** Keeps what is written from now on until `flush`, to be called in the same turn: cheaper than having it called. */
  hold(): void {
    this.#held = this.#batch.length === 0;
  }

  /** Hands what is gathered to the socket now; whatever must come after it calls this first. */
  flush(): void {
    this.#held = false;
    if (this.#batch.length === 0) return;
    const batch = this.#batch;
    this.#batch = [];
    this.#send(batch.length === 1 ? batch[0]! : Buffer.concat(batch));
  }

  #send(bytes: Uint8Array, more?: Uint8Array): void {
    const socket = this.#socket;
    const sent = this.#sendNow(socket, bytes, more);
    if (sent === bytes.length + (more?.length ?? 0)) return;
    socket.cork();
    if (sent < bytes.length) socket.write(bytes.subarray(sent), this.#written);
    if (more) socket.write(more.subarray(Math.max(0, sent - bytes.length)), this.#written);
    socket.uncork();
  }
}

/** Above this, copying the message costs more than a second buffer in the write, and what waits must show at once. */
const MERGED_BYTES = 8192;

/** How the frame of a whole message begins. */
export const FINAL_TEXT = 0x81;

/** A buffer that starts with the header of a final text frame and has room for `room` bytes after it. */
function header(length: number, room: number): Buffer {
  const size = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(size + room);
  frame[0] = FINAL_TEXT;
  if (size === 2) frame[1] = length;
  else frame[1] = size === 4 ? 126 : 127;
  if (size === 4) {
    frame[2] = length >> 8;
    frame[3] = length & 0xff;
  }
  if (size === 10) frame.writeBigUInt64BE(BigInt(length), 2);
  return frame;
}
