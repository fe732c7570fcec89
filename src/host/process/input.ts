import { ExecError, type Result } from '../../protocol/index.ts';
import type { Child } from '../os/index.ts';
import { type InputBudget, RepeatableWrites } from '../stream/index.ts';
import type { ProcessObserver } from './observer.ts';

type WriteStatus = Result<'process/write'>;

/** The stdin of a process: writes in order, which clients may repeat, and its end. */
export class ProcessInput {
  readonly #child: Child;
  readonly #tty: boolean;
  readonly #writes: RepeatableWrites;
  readonly #bytes: ProcessObserver['bytes'];
  #open: boolean;

  constructor(child: Child, tty: boolean, budget: InputBudget, bytes: ProcessObserver['bytes']) {
    this.#bytes = bytes;
    this.#writes = new RepeatableWrites(budget);
    this.#child = child;
    this.#tty = tty;
    this.#open = child.stdin !== undefined;
  }

  async write(writeId: string | undefined, bytes: Uint8Array, running: boolean): Promise<WriteStatus> {
    const { stdin } = this.#child;
    if (this.#writes.has(writeId)) {
      await this.#writes.repeat(writeId, bytes);
      return { status: 'accepted' };
    }
    if (!stdin || !this.#open) return { status: 'stdinClosed' };
    if (bytes.length === 0) this.#writes.note(writeId);
    else if (!running) throw new ExecError('internal', 'failed to write to process stdin');
    else {
      this.#bytes.stdin += bytes.length;
      await this.#writes.write(stdin, writeId, bytes, failure);
    }
    return { status: 'accepted' };
  }

  /** Closes stdin after queued writes; for a terminal, writes its end-of-file character. */
  async close(running: boolean): Promise<WriteStatus> {
    if (this.#tty) return this.write(undefined, Uint8Array.of(this.#child.terminalMode().eof), running);
    if (!this.#open) return { status: 'stdinClosed' };
    this.#open = false;
    this.#child.stdin?.end();
    return { status: 'accepted' };
  }
}

function failure(cause: unknown): ExecError {
  return cause instanceof ExecError ? cause : new ExecError('internal', 'failed to write to process stdin', { cause });
}
