import { Changes, HeadTail } from '../../../base/index.ts';
import { InputRefusedError, OutputGapError } from '../../../client/index.ts';
import type { ExecProcess } from '../backends/exec-backend.ts';
import { limits } from '../limits.ts';
import { markedBytes } from '../report/output-text.ts';
import { afterExit, afterFailure, type ProcessFacts, running } from './process-facts.ts';
import { YieldWindow } from './yield-window.ts';

/**
 * A command while it is being watched. Its output is taken as fast as it comes, into buffers of fixed size that count
 * what they cannot hold, so neither a flood nor a silent reader costs memory or holds up other commands.
 */
export class CommandProcess {
  /** Notified of output, of the end and of every other change of the facts. */
  readonly changes = new Changes();
  /** All output of the process. */
  readonly transcript = new HeadTail(limits.outputBytes);
  readonly #process: ExecProcess;
  readonly #endsWith: 'exit' | 'close';
  #unread = new HeadTail(limits.outputBytes);
  #facts = running;
  #closed = false;
  #abandoned = false;
  #onOutput: (bytes: Uint8Array) => void = () => {};
  #window: YieldWindow | undefined;
  #questions = 0;

  /** Calls wait for the exit, or for the end of the output, which children can delay. */
  constructor(process: ExecProcess, options: { readonly endsWith: 'exit' | 'close' }) {
    this.#process = process;
    this.#endsWith = options.endsWith;
    void this.#pump();
    void this.#awaitExit();
  }

  get facts(): ProcessFacts {
    return this.#facts;
  }

  /** Whether calls need not wait for it any more. */
  get isOver(): boolean {
    return this.isDrained || this.#abandoned || (this.#endsWith === 'exit' && this.#facts.hasExited);
  }

  /** Whether all its output is here. */
  get isDrained(): boolean {
    return this.#closed || this.#facts.failureMessage !== undefined;
  }

  /** The output since the last call. */
  takeUnread(): HeadTail {
    const unread = this.#unread;
    this.#unread = new HeadTail(limits.outputBytes);
    return unread;
  }

  /** Puts back output that could not be delivered. */
  putBack(taken: HeadTail): void {
    taken.merge(this.#unread);
    this.#unread = taken;
  }

  /** Passes on all output, the past and the future. */
  follow(onOutput: (bytes: Uint8Array) => void): void {
    if (this.transcript.totalBytes > 0) onOutput(markedBytes(this.transcript));
    this.#onOutput = onOutput;
  }

  /** Waits until the process is over, but not longer than this. */
  async untilOver(timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    while (!this.isOver && performance.now() < deadline) {
      await this.changes.next({ timeoutMs: deadline - performance.now() });
    }
  }

  /** Time for a call to watch; it stands still while `duringQuestion` does its work. */
  openWindow(lengthMs: number): YieldWindow {
    this.#window = new YieldWindow(lengthMs, this.changes);
    if (this.#questions > 0) this.#window.pause();
    return this.#window;
  }

  async duringQuestion<T>(work: Promise<T>): Promise<T> {
    if (this.#questions++ === 0) this.#window?.pause();
    try {
      return await work;
    } finally {
      if (--this.#questions === 0) this.#window?.resume();
    }
  }

  /** Types into its terminal. */
  async write(text: string): Promise<'taken' | 'ended' | 'refused'> {
    try {
      await this.#process.write(text);
      return 'taken';
    } catch (error) {
      if (!(error instanceof InputRefusedError)) {
        this.#lose(error as Error);
        return 'taken';
      }
      if (error.status === 'starting') return 'refused';
      this.#facts = afterExit(this.#facts, undefined, false);
      this.#abandoned = true;
      this.changes.notify();
      return 'ended';
    }
  }

  async interrupt(): Promise<void> {
    await this.#process.signal('interrupt').catch((error: Error) => this.#lose(error));
  }

  /** Ends the facts with this failure. Later events of the process are ignored. */
  fail(message: string): void {
    this.#facts = afterFailure(this.#facts, message);
    this.changes.notify();
  }

  /** Terminates the process and all its descendants. */
  async terminate(): Promise<void> {
    if (this.#closed) return;
    await this.#process.terminate().catch(() => {}); // without a connection the server ends it by itself
  }

  /** A server that cannot be reached is no matter once everything is here. */
  #lose(error: Error): void {
    if (!this.#closed) this.fail(error.message);
  }

  async #pump(): Promise<void> {
    try {
      while (!(await this.#readToEnd()));
      this.#noteExit();
      this.#closed = this.#facts.failureMessage === undefined;
    } catch (failure) {
      this.fail((failure as Error).message);
    }
    this.changes.notify();
  }

  /** False when output was dropped before it arrived. It is counted, and reading goes on. */
  async #readToEnd(): Promise<boolean> {
    try {
      for await (const { bytes } of this.#process.output) this.#take(bytes);
      return true;
    } catch (error) {
      if (!(error instanceof OutputGapError) || error.bytes === undefined) throw error;
      this.#unread.omit(error.bytes);
      this.transcript.omit(error.bytes);
      return false;
    }
  }

  #take(bytes: Uint8Array): void {
    this.#unread.add(bytes);
    this.transcript.add(bytes);
    this.#onOutput(bytes);
    this.changes.notify();
  }

  async #awaitExit(): Promise<void> {
    await this.#process.wait({ until: 'exited' }).catch(() => undefined); // the pump reports the failure
    this.#noteExit();
    this.changes.notify();
  }

  #noteExit(): void {
    const { state } = this.#process;
    if (state.phase === 'exited' || state.phase === 'closed') {
      this.#facts = afterExit(this.#facts, state.exitCode, state.sandboxDenied);
    }
  }
}
