import { CreditQueue, CreditReturn } from './credit-queue.ts';
import type { NodeLink } from './node-link.ts';
import { StreamRecord } from './stream-record.ts';
import type { SwitchContext } from './switch-context.ts';

/** A harness connection, as the node of an environment knows it. */
export interface AttachedHarness {
  readonly connectionId: string;
  /** Fingerprint of the harness's key. */
  readonly key: string;
  readonly link: NodeLink;
}

/** A stream, as the node of its environment knows it. */
export class EnvironmentStream {
  readonly id: string;
  readonly key: string;
  readonly record: StreamRecord;
  readonly #context: SwitchContext;
  readonly #queue: CreditQueue;
  readonly #returns: CreditReturn;
  /** The connection it belongs to; none while a reliable harness is looking for a new one. */
  harness: AttachedHarness | undefined;
  detachedAt = 0;
  /** A handshake that waits for its turn. */
  held: Uint8Array | undefined;
  /** Whether the environment has answered the handshake, or never got one. */
  settled = true;
  /** The environment has ended it, and the harness will learn it after what was said before. */
  ending = false;
  #progressAt: number;

  constructor(context: SwitchContext, id: string, harness: AttachedHarness, reliable: boolean) {
    this.id = id;
    this.key = harness.key;
    this.harness = harness;
    this.record = new StreamRecord(reliable);
    this.#context = context;
    this.#progressAt = context.now();
    this.#queue = new CreditQueue(context.limits.windowBytes, (frame) => this.harness?.link.sendFrame(frame));
    this.#returns = new CreditReturn(context.limits.creditBytes);
  }

  /** Bytes that wait for the harness. */
  get waiting(): number {
    return this.#queue.bytes;
  }

  /** Passes a frame on to the harness, now or when it has taken enough of the others. */
  toHarness(frame: Uint8Array): void {
    if (this.waiting === 0) this.#progressAt = this.#context.now();
    this.#booked(() => this.#queue.push(frame));
  }

  credit(bytes: number): void {
    this.#progressAt = this.#context.now();
    this.#booked(() => this.#queue.credit(bytes));
  }

  /** What travelled is lost and will not be credited. */
  forgive(): void {
    this.#booked(() => this.#queue.forgive());
  }

  /** Drops what waits. */
  clear(): void {
    this.#booked(() => this.#queue.clear());
  }

  isStalled(now: number): boolean {
    return this.waiting > 0 && now - this.#progressAt >= this.#context.limits.stallMs;
  }

  /** Bytes from the harness have been written to the environment's socket. */
  written(length: number): void {
    const bytes = this.#returns.written(length);
    if (bytes > 0) this.harness?.link.tell({ type: 'credit', stream: this.id, bytes });
  }

  #booked(change: () => void): void {
    const before = this.waiting;
    change();
    this.#context.budget.change(this.waiting - before);
  }
}
