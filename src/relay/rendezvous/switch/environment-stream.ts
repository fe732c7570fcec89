import type { AttachedHarness } from './attached-harnesses.ts';
import { CreditQueue, CreditReturn } from './credit-queue.ts';
import { StreamRecord } from './stream-record.ts';
import { nextStreamState, type SwitchStreamEvent, type SwitchStreamState } from './stream-state.ts';
import type { SwitchContext } from './switch-context.ts';

/** A stream at the node of its environment: its state, and the frames that wait for its harness. */
export class EnvironmentStream {
  readonly id: string;
  /** Who may take its streams up again: the harness with this key, and with a token that grants what the environment was told. */
  readonly key: string;
  readonly record: StreamRecord;
  readonly #context: SwitchContext;
  readonly #queue: CreditQueue;
  readonly #returns: CreditReturn;
  #state: SwitchStreamState<AttachedHarness>;
  /** When the harness last took a frame, or one began to wait for it. */
  #progressAt: number;

  constructor(context: SwitchContext, id: string, harness: AttachedHarness, reliable: boolean) {
    this.id = id;
    this.key = harness.key;
    this.record = new StreamRecord(reliable);
    this.#context = context;
    this.#state = { phase: 'attached', harness };
    this.#progressAt = context.now();
    this.#queue = new CreditQueue(context.limits.windowBytes, (frame) => this.harness?.link.sendFrame(frame));
    this.#returns = new CreditReturn(context.limits.creditBytes);
  }

  get state(): SwitchStreamState<AttachedHarness> {
    return this.#state;
  }

  get harness(): AttachedHarness | undefined {
    return 'harness' in this.#state ? this.#state.harness : undefined;
  }

  get isOver(): boolean {
    return this.#state.phase === 'over';
  }

  /** Frames that wait are for the harness that is attached: losing it drops them. */
  apply(event: SwitchStreamEvent<AttachedHarness>): void {
    const before = this.harness;
    const next = nextStreamState(this.#state, event);
    if (!('harness' in next) || next.harness !== before) this.#withBudget(() => this.#queue.clear());
    this.#state = next;
  }

  /** Bytes that wait for the harness. */
  get waiting(): number {
    return this.#queue.bytes;
  }

  /** Sends a frame to the harness, now or when it has taken enough of those before. */
  sendToHarness(frame: Uint8Array): void {
    if (this.waiting === 0) this.#progressAt = this.#context.now();
    this.#withBudget(() => this.#queue.push(frame));
  }

  /** The harness has taken this many bytes. */
  credit(bytes: number): void {
    this.#progressAt = this.#context.now();
    this.#withBudget(() => this.#queue.credit(bytes));
  }

  /** The frames on their way were lost, so no credit for them will come. */
  resetWindow(): void {
    this.#withBudget(() => this.#queue.resetWindow());
  }

  isStalled(now: number): boolean {
    return this.waiting > 0 && now - this.#progressAt >= this.#context.limits.stallMs;
  }

  /** Bytes of the harness were written to the environment's socket. */
  written(length: number): void {
    const bytes = this.#returns.written(length);
    if (bytes > 0) this.harness?.link.sendControl({ type: 'credit', stream: this.id, bytes });
  }

  /** Carries out a change of the queue and counts it in the budget of the node. */
  #withBudget(change: () => void): void {
    const before = this.waiting;
    change();
    this.#context.budget.change(this.waiting - before);
  }
}
