import { Changes, HeadTail } from '../../../base/index.ts';
import { InputRefusedError, OutputGapError } from '../../../client/index.ts';
import type { ExecProcess } from '../backends/exec-backend.ts';
import { limits } from '../limits.ts';
import { markedBytes } from '../report/output-text.ts';
import { afterExit, afterFailure, type ProcessFacts, running } from './process-facts.ts';
import { YieldWindow } from './yield-window.ts';

/**
 * A started command. Its output is read as fast as it comes, into buffers of fixed size that count the bytes they drop, so
 * neither a flood nor a model that never asks costs memory or delays other commands.
 */
export class CommandProcess {
  /** Notified of output and of every change of the facts. */
  readonly changes = new Changes();
  /** All output of the process. */
  readonly transcript = new HeadTail(limits.outputBytes);
  readonly #process: ExecProcess;
  readonly #endsWith: 'exit' | 'close';
  #unread = new HeadTail(limits.outputBytes);
  #facts = running;
  #closed = false;
  /** The server has refused input because the process is gone, whose events may never come. */
  #isInputRefused = false;
  #onOutput: (bytes: Uint8Array) => void = () => {};
  #window: YieldWindow | undefined;
  #questions = 0;

  /** `endsWith`: calls wait for the exit, or for the end of the output, which children can delay. */
  constructor(process: ExecProcess, options: { readonly endsWith: 'exit' | 'close' }) {
    this.#process = process;
    this.#endsWith = options.endsWith;
    void this.#pump();
    void this.#awaitExit();
  }

  get facts(): ProcessFacts {
    return this.#facts;
  }

  /** Whether calls need not wait for the command any more. */
  get isOver(): boolean {
    return this.isDrained || this.#isInputRefused || (this.#endsWith === 'exit' && this.#facts.hasExited);
  }

  /** Whether all output has arrived. */
  get isDrained(): boolean {
    return this.#closed || this.#facts.failureMessage !== undefined;
  }

  /** The output since the last call. */
  takeUnread(): HeadTail {
    const unread = this.#unread;
    this.#unread = new HeadTail(limits.outputBytes);
    return unread;
  }

  /** Puts back output that no call has answered with. */
  putBack(taken: HeadTail): void {
    taken.merge(this.#unread);
    this.#unread = taken;
  }

  /** Calls `onOutput` with the output so far, and with all that follows. */
  follow(onOutput: (bytes: Uint8Array) => void): void {
    if (this.transcript.totalBytes > 0) onOutput(markedBytes(this.transcript));
    this.#onOutput = onOutput;
  }

  /** Waits until the command is over, but not longer than this. */
  async untilOver(timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    while (!this.isOver && performance.now() < deadline) {
      await this.changes.next({ timeoutMs: deadline - performance.now() });
    }
  }

  /** Opens the time window of a call; it is suspended while `duringQuestion` waits. */
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

  /** Types into the terminal. */
  async write(text: string): Promise<'written' | 'ended' | 'refused'> {
    try {
      await this.#process.write(text);
      return 'written';
    } catch (error) {
      if (!(error instanceof InputRefusedError)) {
        this.#failUnlessClosed(error as Error);
        return 'written';
      }
      if (error.status === 'starting') return 'refused';
      this.#facts = afterExit(this.#facts, undefined, false);
      this.#isInputRefused = true;
      this.changes.notify();
      return 'ended';
    }
  }

  async interrupt(): Promise<void> {
    await this.#process.signal('interrupt').catch((error: Error) => this.#failUnlessClosed(error));
  }

  /** Records a failure, which is final: later events of the process are ignored. */
  fail(message: string): void {
    this.#facts = afterFailure(this.#facts, message);
    this.changes.notify();
  }

  /** Terminates the process and all its descendants. */
  async terminate(): Promise<void> {
    if (this.#closed) return;
    await this.#process.terminate().catch(() => {}); // without a connection the server ends the process by itself
  }

  /** Records a lost connection, which does not matter once all output has arrived. */
  #failUnlessClosed(error: Error): void {
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

  /** Reads until the end; false when output was dropped on the way, which is counted, so that reading goes on. */
  async #readToEnd(): Promise<boolean> {
    try {
      for await (const { bytes } of this.#process.output) this.#keep(bytes);
      return true;
    } catch (error) {
      if (!(error instanceof OutputGapError) || error.bytes === undefined) throw error;
      this.#unread.omit(error.bytes);
      this.transcript.omit(error.bytes);
      return false;
    }
  }

  #keep(bytes: Uint8Array): void {
    this.#unread.add(bytes);
    this.transcript.add(bytes);
    this.#onOutput(bytes);
    this.changes.notify();
  }

  async #awaitExit(): Promise<void> {
    await this.#process.wait({ until: 'exited' }).catch(() => undefined); // `#pump` records the failure
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
