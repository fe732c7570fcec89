/** The newest bytes up to a limit, in memory that grows only as far as it is needed. */
export class ByteRing {
  readonly #limit: number;
  #room = new Uint8Array(0);
  #start = 0;
  #length = 0;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  get length(): number {
    return this.#length;
  }

  get bytes(): Uint8Array {
    const bytes = new Uint8Array(this.#length);
    const first = Math.min(this.#length, this.#room.length - this.#start);
    bytes.set(this.#room.subarray(this.#start, this.#start + first));
    bytes.set(this.#room.subarray(0, this.#length - first), first);
    return bytes;
  }

  /** Adds bytes; gives the number of bytes that were dropped for them, old ones or the first of the new ones. */
  push(bytes: Uint8Array): number {
    const kept = bytes.length > this.#limit ? bytes.subarray(bytes.length - this.#limit) : bytes;
    this.#grow(this.#length + kept.length);
    const pushedOut = Math.max(0, this.#length + kept.length - this.#limit);
    this.#drop(pushedOut);
    this.#append(kept);
    return pushedOut + bytes.length - kept.length;
  }

  #append(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const end = (this.#start + this.#length) % this.#room.length;
    const first = Math.min(bytes.length, this.#room.length - end);
    this.#room.set(bytes.subarray(0, first), end);
    this.#room.set(bytes.subarray(first), 0);
    this.#length += bytes.length;
  }

  #drop(count: number): void {
    if (count === 0) return;
    this.#start = (this.#start + count) % this.#room.length;
    this.#length -= count;
  }

  #grow(needed: number): void {
    if (needed <= this.#room.length || this.#room.length === this.#limit) return;
    const room = new Uint8Array(Math.min(this.#limit, Math.max(needed, this.#room.length * 2, FIRST_BYTES)));
    room.set(this.bytes);
    this.#room = room;
    this.#start = 0;
  }
}

const FIRST_BYTES = 1024;
