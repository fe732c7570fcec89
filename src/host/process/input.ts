import { ExecError, limits, type Result } from '../../protocol/index.ts';
import { type Child, release } from '../os/index.ts';
import type { InputBudget } from './input-budget.ts';
import { WriteIds } from './write-ids.ts';

type WriteStatus = Result<'process/write'>;

/** What is typed into a process: writes that may be repeated, in order, and the end of them. */
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
    const taken = this.#budget.write(stdin, bytes).catch((cause) => {
      if (writeId !== undefined) this.#writeIds.delete(writeId);
      if (cause instanceof ExecError) throw cause;
      throw new ExecError('internal', 'failed to write to process stdin', { cause });
    });
    if (writeId === undefined) await taken;
    else await this.#remember(writeId, taken);
    return { status: 'accepted' };
  }

  /** While the first write waits, its answer is this one's too. The bytes are the same, and not needed again. */
  async #repeat(writeId: string, bytes: Uint8Array): Promise<WriteStatus> {
    release(bytes);
    const first = this.#writeIds.waiting(writeId);
    if (first) await this.#budget.repeat(first);
    return { status: 'accepted' };
  }

  async #remember(writeId: string, taken: Promise<void>): Promise<void> {
    this.#writeIds.add(writeId, taken);
    try {
      await taken;
    } finally {
      this.#writeIds.settle(writeId);
    }
  }

  #accept(writeId: string | undefined): WriteStatus {
    if (writeId !== undefined) this.#writeIds.add(writeId);
    return { status: 'accepted' };
  }

  /** Ends stdin after queued writes; on a terminal types its end-of-file character. */
  async close(running: boolean): Promise<WriteStatus> {
    if (this.#tty) return this.write(undefined, Uint8Array.of(this.#child.terminalMode().eof), running);
    if (!this.#open) return { status: 'stdinClosed' };
    this.#open = false;
    this.#child.stdin?.end();
    return { status: 'accepted' };
  }
}
