import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import { nativeStatus, sendToSocket } from '../host/os/index.ts';

/** Writes as many of the bytes as possible without waiting; gives their number, or that of all bytes if the reader is gone. */
type Writer = (bytes: Buffer) => number;

/**
 * Writes lines to standard error without ever waiting for their reader: Node would block the whole server once the pipe of a stopped
 * reader is full. A bounded number of bytes is kept for such a reader; further lines are dropped and counted.
 */
export class LogSink {
  readonly #write: Writer;
  readonly #describeLoss: (lines: number) => string;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** Whether a part of the first waiting line has been written. */
  #isFirstBegun = false;
  #dropped = 0;
  #retry: NodeJS.Timeout | undefined;

  /** `describeLoss` gives the line that reports how many were dropped. */
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

  /** Writes as much as the reader takes now, and tries the rest again later. */
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
      if (this.#waiting.length === 0 && this.#dropped > 0) this.#reportLoss();
    }
    if (this.#waiting.length === 0) this.#retry = void clearTimeout(this.#retry);
    else this.#retry ??= setInterval(() => this.flush(), RETRY_MS).unref();
  }

  /**
   * Writes the remaining lines before the process ends, with short pauses for a slow reader. Lines that it does not take in time are
   * counted as dropped.
   */
  finish(pause: () => void = pauseShortly): void {
    this.#flushWithPauses(LAST_LINES_PAUSES, pause);
    const [first] = this.#waiting;
    if (!first) return;
    const kept = this.#isFirstBegun ? [first] : [];
    this.#dropped += this.#waiting.length - kept.length;
    this.#waiting = kept;
    this.#waitingBytes = first.length * kept.length;
    if (this.#dropped > 0) this.#reportLoss();
    this.#flushWithPauses(LOSS_PAUSES, pause);
  }

  #flushWithPauses(pauses: number, pause: () => void): void {
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

  #reportLoss(): void {
    this.#queue(Buffer.from(`${this.#describeLoss(this.#dropped)}\n`));
    this.#dropped = 0;
  }
}

const STDERR = 2;
const MOST_WAITING_BYTES = 256 * 1024;
const RETRY_MS = 100;
/** Pauses of a process that ends: 200 ms for the reader to take the lines, then 100 ms for the report of those dropped. */
const LAST_LINES_PAUSES = 40;
const LOSS_PAUSES = 20;
const PAUSE_MS = 5;

function pauseShortly(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
}

/**
 * A writer to a descriptor that does not wait. A pipe or terminal is opened a second time with O_NONBLOCK, so that the flags of the
 * original, which other processes share, stay as they are. A file, or a pipe that cannot be opened again, is written as it is.
 */
export function writerOf(descriptor: number): Writer {
  const plain: Writer = (bytes) => writeSync(descriptor, bytes);
  try {
    const found = fstatSync(descriptor);
    if (found.isSocket() && nativeStatus().ready) return ignoringErrors((bytes) => sendToSocket(descriptor, bytes));
    if (!found.isFIFO() && !found.isCharacterDevice()) return ignoringErrors(plain);
    const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
    const own = openSync(`/proc/self/fd/${descriptor}`, flags);
    return ignoringErrors((bytes) => writeSync(own, bytes));
  } catch {
    return ignoringErrors(plain); // no procfs, or no right to open it once more
  }
}

/** Drops the bytes on any error but EAGAIN: a reader that is gone must not stop the server. */
function ignoringErrors(write: Writer): Writer {
  return (bytes) => {
    try {
      return write(bytes);
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'EAGAIN' ? 0 : bytes.length;
    }
  };
}
