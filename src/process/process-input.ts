import type { Child } from '../os/index.ts';
import { ExecError, limits, type Result } from '../protocol/index.ts';
import { WriteIds } from './write-ids.ts';

type WriteStatus = Result<'process/write'>;

/** What is typed into a process: writes that may be repeated, in order, and the end of them. */
export class ProcessInput {
  readonly #child: Child;
  readonly #tty: boolean;
  readonly #writeIds = new WriteIds(limits.rememberedWriteIds);
  #open: boolean;

  constructor(child: Child, tty: boolean) {
    this.#child = child;
    this.#tty = tty;
    this.#open = child.stdin !== undefined;
  }

  async write(writeId: string | undefined, bytes: Uint8Array, running: boolean): Promise<WriteStatus> {
    const { stdin } = this.#child;
    if (writeId !== undefined && this.#writeIds.has(writeId)) return { status: 'accepted' };
    if (!stdin || !this.#open) return { status: 'stdinClosed' };
    if (bytes.length === 0) return this.#accept(writeId);
    if (!running) throw new ExecError('internal', 'failed to write to process stdin');
    if (writeId !== undefined) this.#writeIds.add(writeId);
    try {
      await stdin.write(bytes);
    } catch (cause) {
      if (writeId !== undefined) this.#writeIds.delete(writeId);
      throw new ExecError('internal', 'failed to write to process stdin', { cause });
    }
    return { status: 'accepted' };
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
