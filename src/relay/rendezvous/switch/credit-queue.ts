/**
 * Frames of one stream on their way to the node of the other end. Only a window of them travels; the rest waits here, so
 * that what waits always waits on the side that is fast.
 */
export class CreditQueue {
  readonly #window: number;
  readonly #transmit: (frame: Uint8Array) => void;
  #waiting: Uint8Array[] = [];
  /** Those before it have left. */
  #first = 0;
  #travelling = 0;
  #waitingBytes = 0;

  constructor(window: number, transmit: (frame: Uint8Array) => void) {
    this.#window = window;
    this.#transmit = transmit;
  }

  /** Bytes that wait for credit. */
  get bytes(): number {
    return this.#waitingBytes;
  }

  push(frame: Uint8Array): void {
    if (this.#waitingBytes === 0 && this.#travelling < this.#window) {
      this.#send(frame);
    } else {
      this.#waiting.push(frame);
      this.#waitingBytes += frame.length;
    }
  }

  credit(bytes: number): void {
    this.#travelling = Math.max(0, this.#travelling - bytes);
    while (this.#waitingBytes > 0 && this.#travelling < this.#window) {
      const frame = this.#waiting[this.#first++]!;
      this.#waitingBytes -= frame.length;
      this.#send(frame);
    }
    if (this.#waitingBytes === 0 || this.#first > MANY) this.#forgetSent();
  }

  /** Starts over with a full window: nothing that travelled will be credited. */
  forgive(): void {
    this.credit(this.#travelling);
  }

  clear(): void {
    this.#waiting = [];
    this.#first = 0;
    this.#waitingBytes = 0;
    this.#travelling = 0;
  }

  #forgetSent(): void {
    this.#waiting = this.#waiting.slice(this.#first);
    this.#first = 0;
  }

  #send(frame: Uint8Array): void {
    this.#travelling += frame.length;
    this.#transmit(frame);
  }
}

/** Enough frames sent to make shortening the list worth it. */
const MANY = 256;

/** Gathers bytes written until they are worth a message. */
export class CreditReturn {
  readonly #portion: number;
  #bytes = 0;

  constructor(portion: number) {
    this.#portion = portion;
  }

  /** The credit that is due now, or 0. */
  written(bytes: number): number {
    this.#bytes += bytes;
    if (this.#bytes < this.#portion) return 0;
    const due = this.#bytes;
    this.#bytes = 0;
    return due;
  }
}
