import { encodeUtf8, onAbort } from '../base/index.ts';
import { ExecError } from '../protocol/index.ts';
import type { Calls } from './calls.ts';
import { InputRefusedError, UnsupportedError } from './errors.ts';

/** How the stdin of a process is connected. */
export type StdinKind = 'terminal' | 'pipe' | 'none';

/** The writing end of a process's stdin: one write after the other, each applied exactly once. */
export class ProcessStdin {
  readonly kind: StdinKind;
  readonly #processId: string;
  readonly #calls: Calls;
  #turn: Promise<unknown> = Promise.resolve();
  #writes = 0;
  #lineIsOpen = false;

  constructor(processId: string, kind: StdinKind, calls: Calls) {
    this.#processId = processId;
    this.kind = kind;
    this.#calls = calls;
  }

  get canClosePipe(): boolean {
    return this.kind === 'pipe' && this.#calls.supports(CAPABILITY);
  }

  /** Resolves when the server has taken all of it. */
  write(data: Uint8Array | string, signal?: AbortSignal): Promise<void> {
    const bytes = typeof data === 'string' ? encodeUtf8(data) : data;
    return this.#inTurn(() => this.#writeParts(bytes, signal));
  }

  /** Lets the process read the end of its input, after everything written before. */
  close(signal?: AbortSignal): Promise<void> {
    return this.#inTurn(() => this.#writeEnd(signal));
  }

  /** Throws if `close` cannot work. */
  requireCloseable(): void {
    if (this.kind === 'none') {
      throw new ExecError('invalidRequest', `process ${this.#processId} has no stdin: start it with pipeStdin or tty`);
    }
    if (this.kind === 'pipe' && !this.canClosePipe) throw new UnsupportedError('close stdin', CAPABILITY);
  }

  async #writeEnd(signal: AbortSignal | undefined): Promise<void> {
    this.requireCloseable();
    if (this.kind === 'terminal') return this.#writeParts(this.#endOfInput(), signal);
    const { status } = await this.#calls.request('process/closeStdin', { processId: this.#processId }, signal);
    if (status !== 'stdinClosed') this.#check(status);
  }

  /**
   * Written as characters, not requested by `process/closeStdin`: a repeated write is carried out once, but a second end of input
   * would reach the program that reads next. In the middle of a line the first EOT only passes the line on.
   */
  #endOfInput(): Uint8Array {
    return this.#lineIsOpen ? Uint8Array.of(EOT, EOT) : Uint8Array.of(EOT);
  }

  async #writeParts(bytes: Uint8Array, signal: AbortSignal | undefined): Promise<void> {
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

  /** False when the server's queue of input that processes of this client have not read is full. */
  async #isTaken(chunk: Uint8Array, signal: AbortSignal | undefined): Promise<boolean> {
    try {
      await this.#writePart(chunk, signal);
      return true;
    } catch (error) {
      if (error instanceof ExecError && error.kind === 'stdinFull') return false;
      throw error;
    }
  }

  async #writePart(chunk: Uint8Array, signal: AbortSignal | undefined): Promise<void> {
    const writeId = String(++this.#writes);
    const { status } = await this.#calls.request(
      'process/write',
      { processId: this.#processId, writeId, chunk },
      signal,
    );
    this.#check(status);
    if (chunk.length > 0) this.#lineIsOpen = chunk.at(-1) !== NEWLINE && chunk.at(-1) !== EOT;
  }

  #check(status: 'accepted' | 'unknownProcess' | 'stdinClosed' | 'starting'): void {
    if (status !== 'accepted') throw new InputRefusedError(this.#processId, status);
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {}); // the caller of this write gets the error; later writes are independent of it
    return done;
  }
}

const CAPABILITY = 'processCloseStdin';
/** The size of the server's queue for a process. */
const PART_BYTES = 1024 * 1024;
/** Parts after a refusal. The server takes this much for a process that reads, even if its queues for others are full. */
const SHORT_PART_BYTES = 64 * 1024;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1000;
const EOT = 0x04;
const NEWLINE = 0x0a;

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
