import type { Child, ChildEvent, ChildInput, ExitStatus } from '../../os/index.ts';
import { OrderedInput } from './ordered-input.ts';
import type { WaitingLauncher } from './waiting-launcher.ts';

/**
 * What a launcher that waited becomes once it has its order. One that does not begin to read the order in time has been stopped or
 * frozen: it is killed, and another one finds the order where it lies. Only one of them can have it. What was written to the first
 * one, sent to it or asked of it is done with the other as well.
 */
export class OrderedChild implements Child {
  readonly stdin: ChildInput | undefined;
  readonly exited: Promise<ExitStatus>;
  readonly events: AsyncIterable<ChildEvent> = {
    [Symbol.asyncIterator]: () => ({ next: () => (this.#isOpen ? this.#firstEvent() : this.#events.next()) }),
  };
  readonly #launcher: WaitingLauncher;
  readonly #another: () => Child;
  readonly #input: OrderedInput | undefined;
  readonly #overdue: NodeJS.Timeout;
  #child: Child;
  #events: AsyncIterator<ChildEvent>;
  /** Whether another launcher may still be needed. */
  #isOpen = true;
  #isDisposed = false;
  #replacement: Promise<Child | undefined> | undefined;
  readonly #repeated: ((child: Child) => void)[] = [];

  /** The launcher has its order. */
  constructor(launcher: WaitingLauncher, another: () => Child) {
    this.#launcher = launcher;
    this.#another = another;
    this.#child = launcher.child;
    this.#events = this.#child.events[Symbol.asyncIterator]();
    this.#input = this.#child.stdin && new OrderedInput(this.#child.stdin, () => this.#mayBeReplaced());
    this.stdin = this.#input;
    this.exited = this.#child.exited.then((status) => this.#lastStatus(status));
    this.#overdue = setTimeout(() => this.#judge(), ORDER_MS).unref();
  }

  get pid(): number {
    return this.#child.pid;
  }

  signal(signal: number): boolean {
    this.#repeat((child) => void child.signal(signal));
    return this.#child.signal(signal);
  }

  join(mark: bigint): ReturnType<Child['join']> {
    return this.#child.join(mark);
  }

  resize(rows: number, cols: number): void {
    this.#repeat((child) => child.resize(rows, cols));
    this.#child.resize(rows, cols);
  }

  terminalMode(): ReturnType<Child['terminalMode']> {
    return this.#child.terminalMode();
  }

  closeOutputs(): void {
    this.#repeat((child) => child.closeOutputs());
    this.#child.closeOutputs();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    if (this.#replacement) await this.#replacement;
    else this.#settle();
    await this.#child[Symbol.asyncDispose]();
  }

  #repeat(call: (child: Child) => void): void {
    if (this.#mayBeReplaced()) this.#repeated.push(call);
  }

  #mayBeReplaced(): boolean {
    if (this.#isOpen && !this.#replacement && this.#launcher.hasTakenOrder) this.#settle();
    return this.#isOpen;
  }

  async #firstEvent(): Promise<IteratorResult<ChildEvent>> {
    const event = await this.#events.next();
    if (this.#replacement) return (await this.#replacement) ? this.#events.next() : event;
    this.#settle();
    return event;
  }

  async #lastStatus(status: ExitStatus): Promise<ExitStatus> {
    if (!this.#replacement) this.#settle();
    return (await this.#replacement)?.exited ?? status;
  }

  #judge(): void {
    if (!this.#mayBeReplaced()) return;
    this.#replacement = this.#replace();
    this.#input?.replaced(this.#replacement);
  }

  /** Nothing if it has begun with the order when it dies: it has failed then, and nothing is done twice. */
  async #replace(): Promise<Child | undefined> {
    await this.#child[Symbol.asyncDispose]();
    try {
      if (this.#isDisposed || this.#launcher.hasTakenOrder) return undefined;
      const child = this.#another();
      this.#child = child;
      this.#events = child.events[Symbol.asyncIterator]();
      for (const call of this.#repeated) call(child);
      return child;
    } catch {
      return undefined; // no process can be started now: the command ends as one that is killed
    } finally {
      this.#settle();
    }
  }

  #settle(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    clearTimeout(this.#overdue);
    this.#launcher.forgetOrder();
    this.#input?.settle();
  }
}

/** A launcher that waits reads at once; on a busy machine it may have to wait for the processor. */
const ORDER_MS = 1000;
