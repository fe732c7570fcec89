import { deferred } from '../../../base/index.ts';
import type { Child, ChildEvent, ChildInput, ExitStatus } from '../../os/index.ts';
import { nextReplacementState, type ReplacementEvent, type ReplacementState } from './replacement-state.ts';
import { ReplayedInput } from './replayed-input.ts';
import type { WaitingLauncher } from './waiting-launcher.ts';

/**
 * The process of a launcher that has got its order. A launcher that does not begin to read the order in time has been stopped or
 * frozen: it is killed, and another launcher reads the order from the same socket, so that only one of them can have it. Input,
 * signals and other calls that the first launcher got are repeated for the other one.
 */
export class ReplaceableChild implements Child {
  readonly stdin: ChildInput | undefined;
  readonly exited: Promise<ExitStatus>;
  readonly events: AsyncIterable<ChildEvent> = {
    [Symbol.asyncIterator]: () => ({
      next: () => (this.#state === 'settled' ? this.#events.next() : this.#firstEvent()),
    }),
  };
  readonly #launcher: WaitingLauncher;
  readonly #startAnother: () => Child;
  readonly #input: ReplayedInput | undefined;
  readonly #overdue: NodeJS.Timeout;
  readonly #last = deferred<Child>();
  /** Calls that another launcher gets as well. */
  readonly #calls: ((child: Child) => void)[] = [];
  #state: ReplacementState = 'pending';
  #child: Child;
  #events: AsyncIterator<ChildEvent>;

  /** The launcher has been given its order. */
  constructor(launcher: WaitingLauncher, startAnother: () => Child) {
    this.#launcher = launcher;
    this.#startAnother = startAnother;
    this.#child = launcher.child;
    this.#events = this.#child.events[Symbol.asyncIterator]();
    this.#input =
      this.#child.stdin && new ReplayedInput(this.#child.stdin, this.#last.promise, () => this.#isReplaceable());
    this.stdin = this.#input;
    this.exited = this.#child.exited.then(() => this.#lastStatus());
    this.#overdue = setTimeout(() => this.#replaceIfIdle(), ORDER_MS).unref();
  }

  get pid(): number {
    return this.#child.pid;
  }

  signal(signal: number): boolean {
    this.#note((child) => void child.signal(signal));
    return this.#child.signal(signal);
  }

  join(mark: bigint): ReturnType<Child['join']> {
    return this.#child.join(mark);
  }

  resize(rows: number, cols: number): void {
    this.#note((child) => child.resize(rows, cols));
    this.#child.resize(rows, cols);
  }

  terminalMode(): ReturnType<Child['terminalMode']> {
    return this.#child.terminalMode();
  }

  closeOutputs(): void {
    this.#note((child) => child.closeOutputs());
    this.#child.closeOutputs();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#apply('disposed');
    const child = await this.#last.promise;
    await child[Symbol.asyncDispose]();
  }

  #note(call: (child: Child) => void): void {
    if (this.#isReplaceable()) this.#calls.push(call);
  }

  #isReplaceable(): boolean {
    if (this.#state === 'pending' && this.#launcher.hasTakenOrder) this.#apply('began');
    return this.#state !== 'settled';
  }

  /** The first event of the last child: a launcher that is being killed has one as well, the end of its streams. */
  async #firstEvent(): Promise<IteratorResult<ChildEvent>> {
    const events = this.#events;
    const event = await events.next();
    this.#apply('began');
    await this.#last.promise;
    return this.#events === events ? event : this.#events.next();
  }

  async #lastStatus(): Promise<ExitStatus> {
    this.#apply('began');
    const child = await this.#last.promise;
    return child.exited;
  }

  #replaceIfIdle(): void {
    if (!this.#isReplaceable()) return;
    this.#apply('overdue');
    void this.#replace();
  }

  /** A launcher that has begun with the order by the time it is dead has failed, and is not replaced: nothing is done twice. */
  async #replace(): Promise<void> {
    await this.#child[Symbol.asyncDispose]();
    if (this.#state === 'replacing' && !this.#launcher.hasTakenOrder) this.#switchToAnother();
    this.#apply('ended');
  }

  #switchToAnother(): void {
    let child: Child;
    try {
      child = this.#startAnother();
    } catch {
      return; // no process can be started now: the command ends as one that is killed
    }
    this.#child = child;
    this.#events = child.events[Symbol.asyncIterator]();
    this.#input?.replayTo(child.stdin);
    for (const call of this.#calls) call(child);
  }

  #apply(event: ReplacementEvent): void {
    const before = this.#state;
    this.#state = nextReplacementState(before, event);
    if (this.#state !== 'settled' || before === 'settled') return;
    clearTimeout(this.#overdue);
    this.#launcher.forgetOrder();
    this.#input?.forget();
    this.#last.resolve(this.#child);
  }
}

/** A launcher that waits reads at once; on a busy machine it may have to wait for the processor. */
const ORDER_MS = 1000;
