import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import { nativeStatus, sendToSocket } from '../host/os/index.ts';

/** Takes as many of the bytes as it can without waiting; all of them where the reader is gone. */
type Writer = (bytes: Buffer) => number;

/**
 * Writes lines to standard error and never waits for their reader: Node would, and the whole server with it, once a pipe is full
 * whose reader is stopped. A bounded number of bytes is kept for such a reader; what is beyond is dropped and counted.
 */
export class LogSink {
  readonly #write: Writer;
  readonly #describeLoss: (lines: number) => string;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** Whether a part of the first line that waits has been written. */
  #isFirstBegun = false;
  #dropped = 0;
  #retry: NodeJS.Timeout | undefined;

  /** `describeLoss` gives the line that tells how many were dropped. */
  constructor(describeLoss: (lines: number) => string, write: Writer = writerOf(STDERR)) {
    this.#describeLoss = describeLoss;
    this.#write = write;
  }

  add(line: string): void {
    const bytes = Buffer.from(`${line}\n`);
    if (this.#waitingBytes + bytes.length > MOST_WAITING_BYTES) this.#dropped++;
    else this.#queue(bytes);
    this.flush();
  }

  /** Writes what the reader takes now, and tries the rest again later. */
  flush(): void {
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      const written = this.#write(next);
      this.#waitingBytes -= written;
      if (written < next.length) {
        this.#isFirstBegun ||= written > 0;
        this.#waiting[0] = next.subarray(written);
        break;
      }
      this.#isFirstBegun = false;
      this.#waiting.shift();
      if (this.#waiting.length === 0 && this.#dropped > 0) this.#tellLoss();
    }
    if (this.#waiting.length === 0) this.#retry = void clearTimeout(this.#retry);
    else this.#retry ??= setInterval(() => this.flush(), RETRY_MS).unref();
  }

  /**
   * Writes what is left before the process ends, for a reader that is slow but reads; what that one does not take in time is
   * counted with the rest.
   */
  finish(pause: () => void = pauseShortly): void {
    this.#flushPatiently(LAST_LINES_PAUSES, pause);
    const [first] = this.#waiting;
    if (!first) return;
    const kept = this.#isFirstBegun ? [first] : [];
    this.#dropped += this.#waiting.length - kept.length;
    this.#waiting = kept;
    this.#waitingBytes = first.length * kept.length;
    if (this.#dropped > 0) this.#tellLoss();
    this.#flushPatiently(LOSS_PAUSES, pause);
  }

  #flushPatiently(pauses: number, pause: () => void): void {
    this.flush();
    for (let n = 0; n < pauses && this.#waiting.length > 0; n++) {
      pause();
      this.flush();
    }
  }

  #queue(bytes: Buffer): void {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
  }

  #tellLoss(): void {
    this.#queue(Buffer.from(`${this.#describeLoss(this.#dropped)}\n`));
    this.#dropped = 0;
  }
}

const STDERR = 2;
const MOST_WAITING_BYTES = 256 * 1024;
const RETRY_MS = 100;
/** How often a process that ends looks whether the reader takes more: 200 ms for its lines, then 100 ms for their number. */
const LAST_LINES_PAUSES = 40;
const LOSS_PAUSES = 20;
const PAUSE_MS = 5;

function pauseShortly(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
}

/**
 * How to write to a descriptor without waiting. A pipe or terminal is opened once more for it, so that those who share the
 * descriptor keep theirs as it is; one that cannot be, and a file, is written as it is.
 */
export function writerOf(descriptor: number): Writer {
  const plain: Writer = (bytes) => writeSync(descriptor, bytes);
  try {
    const found = fstatSync(descriptor);
    if (found.isSocket() && nativeStatus().ready) return tolerant((bytes) => sendToSocket(descriptor, bytes));
    if (!found.isFIFO() && !found.isCharacterDevice()) return tolerant(plain);
    const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
    const own = openSync(`/proc/self/fd/${descriptor}`, flags);
    return tolerant((bytes) => writeSync(own, bytes));
  } catch {
    return tolerant(plain); // no procfs, or no right to open it once more
  }
}

/** A reader that is gone takes nothing with it. */
function tolerant(write: Writer): Writer {
  return (bytes) => {
    try {
      return write(bytes);
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'EAGAIN' ? 0 : bytes.length;
    }
  };
}
