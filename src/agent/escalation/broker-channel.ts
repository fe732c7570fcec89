import { Socket } from 'node:net';

/** Bytes read at once. */
const READ_BYTES = 64 * 1024;

/** The bytes to and from a broker, read on this thread: waking another thread costs more than parsing a short report. */
export class BrokerChannel {
  /** Resolves when the socket has closed. */
  readonly closed: Promise<void>;
  readonly #socket: Socket;

  /** The bytes given to `take` are overwritten once it returns; when it returns false nothing is read before `resume`. */
  constructor(fd: number, take: (bytes: Buffer) => boolean) {
    const callback = (length: number, buffer: Uint8Array): boolean => take((buffer as Buffer).subarray(0, length));
    this.#socket = new Socket({
      fd,
      readable: true,
      writable: true,
      onread: { buffer: Buffer.allocUnsafeSlow(READ_BYTES), callback },
    });
    this.#socket.on('error', () => undefined); // `close` follows, and says as much
    this.closed = new Promise((resolve) => this.#socket.once('close', () => resolve()));
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Resolves when the bytes are written, or cannot be. */
  write(bytes: Buffer): Promise<void> {
    if (!this.#socket.writable) return Promise.resolve();
    return new Promise((resolve) => this.#socket.write(bytes, () => resolve()));
  }

  /** Writes a few bytes without waiting. */
  post(text: string): void {
    if (this.#socket.writable) this.#socket.write(text, 'latin1');
  }

  /** Ends the stream to the broker. */
  end(): void {
    this.#socket.end();
  }

  close(): void {
    this.#socket.destroy();
  }
}
