import { encodeUtf8 } from '../base/index.ts';
import { ExecError } from '../protocol/index.ts';
import type { Calls } from './calls.ts';
import { InputRefusedError, UnsupportedError } from './errors.ts';
import { OrderedWrites } from './ordered-writes.ts';

/** How the stdin of a process is connected. */
export type StdinKind = 'terminal' | 'pipe' | 'none';

/** The writing end of a process's stdin: one write after the other, each applied exactly once. */
export class ProcessStdin {
  readonly kind: StdinKind;
  readonly #processId: string;
  readonly #calls: Calls;
  readonly #writes = new OrderedWrites((chunk, writeId, signal) => this.#send(chunk, writeId, signal));
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
    return this.#writes.inTurn(() => this.#writes.write(bytes, signal));
  }

  /** Lets the process read the end of its input, after everything written before. */
  close(signal?: AbortSignal): Promise<void> {
    return this.#writes.inTurn(() => this.#writeEnd(signal));
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
    if (this.kind === 'terminal') return this.#writes.write(this.#endOfInput(), signal);
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

  async #send(chunk: Uint8Array, writeId: string, signal: AbortSignal | undefined): Promise<void> {
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
}

const CAPABILITY = 'processCloseStdin';
const EOT = 0x04;
const NEWLINE = 0x0a;
