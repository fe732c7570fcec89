import { ExecError, limits, type Result } from '../../protocol/index.ts';
import { type Child, release } from '../os/index.ts';
import type { InputBudget } from './input-budget.ts';
import { WriteIds } from './write-ids.ts';

type WriteStatus = Result<'process/write'>;

/** The stdin of a process: writes in order, which clients may repeat, and its end. */
export class ProcessInput {
  readonly #child: Child;
  readonly #tty: boolean;
  readonly #budget: InputBudget;
  readonly #writeIds = new WriteIds(limits.rememberedWriteIds);
  #open: boolean;

  constructor(child: Child, tty: boolean, budget: InputBudget) {
    this.#budget = budget;
    this.#child = child;
    this.#tty = tty;
    this.#open = child.stdin !== undefined;
  }

  async write(writeId: string | undefined, bytes: Uint8Array, running: boolean): Promise<WriteStatus> {
    const { stdin } = this.#child;
    if (writeId !== undefined && this.#writeIds.has(writeId)) return this.#repeat(writeId, bytes);
    if (!stdin || !this.#open) return { status: 'stdinClosed' };
    if (bytes.length === 0) return this.#accept(writeId);
    if (!running) throw new ExecError('internal', 'failed to write to process stdin');
    const written = this.#budget.write(stdin, bytes).catch((cause) => {
      if (writeId !== undefined) this.#writeIds.delete(writeId);
      if (cause instanceof ExecError) throw cause;
      throw new ExecError('internal', 'failed to write to process stdin', { cause });
    });
    if (writeId === undefined) await written;
    else await this.#remember(writeId, written);
    return { status: 'accepted' };
  }

  /** Gets the answer of the first write with this id, whose bytes are the same. */
  async #repeat(writeId: string, bytes: Uint8Array): Promise<WriteStatus> {
    release(bytes);
    const first = this.#writeIds.waiting(writeId);
    if (first) await this.#budget.repeat(first);
    return { status: 'accepted' };
  }

  async #remember(writeId: string, written: Promise<void>): Promise<void> {
    this.#writeIds.add(writeId, written);
    try {
      await written;
    } finally {
      this.#writeIds.settle(writeId);
    }
  }

  #accept(writeId: string | undefined): WriteStatus {
    if (writeId !== undefined) this.#writeIds.add(writeId);
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
