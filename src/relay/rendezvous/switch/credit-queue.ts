/**
 * Frames of one stream to the node of the other end. A window of bytes may be on its way; the rest waits here, at the node of the
 * sender, so the queue of a slow receiver never fills the memory of another node.
 */
export class CreditQueue {
  readonly #window: number;
  readonly #transmit: (frame: Uint8Array) => void;
  #waiting: Uint8Array[] = [];
  /** The index of the first frame that waits; those before it were sent. */
  #first = 0;
  #inFlight = 0;
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
    if (this.#waitingBytes === 0 && this.#inFlight < this.#window) {
      this.#send(frame);
    } else {
      this.#waiting.push(frame);
      this.#waitingBytes += frame.length;
    }
  }

  credit(bytes: number): void {
    this.#inFlight = Math.max(0, this.#inFlight - bytes);
    while (this.#waitingBytes > 0 && this.#inFlight < this.#window) {
      const frame = this.#waiting[this.#first++]!;
      this.#waitingBytes -= frame.length;
      this.#send(frame);
    }
    if (this.#waitingBytes === 0 || this.#first > MANY) this.#forgetSent();
  }

  /** Empties the window: the frames on their way were lost, so no credit for them will come. */
  resetWindow(): void {
    this.credit(this.#inFlight);
  }

  clear(): void {
    this.#waiting = [];
    this.#first = 0;
    this.#waitingBytes = 0;
    this.#inFlight = 0;
  }

  #forgetSent(): void {
    this.#waiting = this.#waiting.slice(this.#first);
    this.#first = 0;
  }

  #send(frame: Uint8Array): void {
    this.#inFlight += frame.length;
    this.#transmit(frame);
  }
}

/** Sent frames at the start of the list that make shortening it worth a copy. */
const MANY = 256;

/** Adds up written bytes until they are worth a message. */
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
