import type { Socket } from 'node:net';
import { startTextFrame } from './frame-header.ts';

/** Writes bytes to the kernel without waiting; gives the number written, 0 while earlier ones wait in the socket. */
export type SendNow = (bytes: Uint8Array, more?: Uint8Array) => number;

/**
 * Writes the text frames of a server. They are not masked, so header and message go into one buffer, and the small frames
 * of one turn of the event loop are sent in one system call. Only bytes that the kernel does not take at once wait in the socket.
 */
export class FrameWriter {
  readonly #socket: Socket;
  readonly #sendNow: SendNow;
  readonly #written: () => void;
  #batch: Buffer[] = [];
  #held = false;

  /** `written` is called when the kernel has taken the bytes that waited in the socket. */
  constructor(socket: Socket, sendNow: SendNow, written: () => void) {
    this.#socket = socket;
    this.#sendNow = sendNow;
    this.#written = written;
  }

  write(message: string | Uint8Array): void {
    const length = typeof message === 'string' ? Buffer.byteLength(message) : message.length;
    if (length > MERGED_BYTES) {
      this.flush();
      this.#send(startTextFrame(length, 0), typeof message === 'string' ? Buffer.from(message) : message);
      return;
    }
    const frame = startTextFrame(length, length);
    const start = frame.length - length;
    if (typeof message === 'string') frame.write(message, start, 'utf8');
    else frame.set(message, start);
    if (this.#batch.push(frame) === 1 && !this.#held) process.nextTick(() => this.flush());
  }

  /** Collects frames until `flush`, which must be called in the same turn: cheaper than scheduling the call. */
  hold(): void {
    this.#held = this.#batch.length === 0;
  }

  /** Sends the collected frames; called before other bytes are written to the socket. */
  flush(): void {
    this.#held = false;
    if (this.#batch.length === 0) return;
    const batch = this.#batch;
    this.#batch = [];
    this.#send(batch.length === 1 ? batch[0]! : Buffer.concat(batch));
  }

  #send(bytes: Uint8Array, more?: Uint8Array): void {
    const socket = this.#socket;
    const sent = this.#sendNow(bytes, more);
    if (sent === bytes.length + (more?.length ?? 0)) return;
    socket.cork();
    if (sent < bytes.length) socket.write(bytes.subarray(sent), this.#written);
    if (more) socket.write(more.subarray(Math.max(0, sent - bytes.length)), this.#written);
    socket.uncork();
  }
}

/** Above this, copying the message costs more than a second buffer in the write, and it must count as buffered at once. */
const MERGED_BYTES = 8192;
