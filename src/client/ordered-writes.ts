import { onAbort } from '../base/index.ts';
import { ExecError } from '../protocol/index.ts';

/** Sends one part of a write; `writeId` lets the server recognise its repetition. */
export type SendPart = (chunk: Uint8Array, writeId: string, signal: AbortSignal | undefined) => Promise<void>;

/** Writes to a process or stream: one after the other, in parts that the server's queue holds. */
export class OrderedWrites {
  readonly #send: SendPart;
  #turn: Promise<unknown> = Promise.resolve();
  #writes = 0;

  constructor(send: SendPart) {
    this.#send = send;
  }

  /** Does `work` after everything that was asked for before. */
  inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {}); // the caller of this write gets the error; later writes are independent of it
    return done;
  }

  /** Resolves when the server has taken all of it. To be called in turn. */
  async write(bytes: Uint8Array, signal: AbortSignal | undefined): Promise<void> {
    let size = PART_BYTES;
    let pauseMs = FIRST_PAUSE_MS;
    let at = 0;
    do {
      signal?.throwIfAborted();
      if (await this.#isTaken(bytes.subarray(at, at + size), signal)) {
        at += size;
        size = Math.min(size * 2, PART_BYTES);
        pauseMs = FIRST_PAUSE_MS;
      } else {
        size = SHORT_PART_BYTES;
        await pause(pauseMs, signal);
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      }
    } while (at < bytes.length);
  }

  /** False when the server's queue of input that was not read yet is full. */
  async #isTaken(chunk: Uint8Array, signal: AbortSignal | undefined): Promise<boolean> {
    try {
      await this.#send(chunk, String(++this.#writes), signal);
      return true;
    } catch (error) {
      if (error instanceof ExecError && error.kind === 'stdinFull') return false;
      throw error;
    }
  }
}

/** The size of the server's queue for one reader. */
const PART_BYTES = 1024 * 1024;
/** Parts after a refusal. The server takes this much for a process that reads, even if its queues for others are full. */
const SHORT_PART_BYTES = 64 * 1024;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1000;

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      stopping[Symbol.dispose]();
      resolve();
    }, ms);
    const stopping = onAbort(signal, (reason) => {
      clearTimeout(timer);
      reject(reason);
    });
  });
}
