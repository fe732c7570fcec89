import type { FrameReceiver, FrameTransport, SealedFrame } from '../../src/relay/index.ts';

/** What a network does with a frame: passes it on, or several, or none, now or later. */
export type Carrier = (frame: Uint8Array, deliver: (frame: Uint8Array) => void) => void;

const faithful: Carrier = (frame, deliver) => deliver(frame);

/** Two ends of a connection inside one process; each direction has its own carrier. */
export function transportPair(forth: Carrier = faithful, back: Carrier = faithful): [MemoryTransport, MemoryTransport] {
  const left = new MemoryTransport(forth);
  const right = new MemoryTransport(back);
  left.other = right;
  right.other = left;
  return [left, right];
}

export class MemoryTransport implements FrameTransport {
  readonly #carry: Carrier;
  #resolve!: () => void;
  readonly closed = new Promise<void>((resolve) => {
    this.#resolve = resolve;
  });
  other!: MemoryTransport;
  /** Every frame sent from here. */
  readonly sent: Uint8Array[] = [];
  #receive: FrameReceiver | undefined;
  #inbox: Uint8Array[] = [];
  #isBusy = false;
  #isOver = false;
  #unconfirmed: (() => void)[] = [];
  #room: Promise<void> | undefined;
  #makeRoom: () => void = () => {};

  constructor(carry: Carrier) {
    this.#carry = carry;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Frames that have arrived and were not taken, because the receiver is busy. */
  get waiting(): number {
    return this.#inbox.length;
  }

  open(receive: FrameReceiver): void {
    this.#receive = receive;
    this.#drain();
  }

  send(parts: Uint8Array | SealedFrame, onDelivered?: () => void): void | Promise<void> {
    if (this.#isOver) return;
    const frame = parts instanceof Uint8Array ? parts : Buffer.concat(parts);
    this.sent.push(frame);
    if (onDelivered) this.#unconfirmed.push(onDelivered);
    this.#carry(frame, (arrived) => this.other.#arrive(arrived));
    return this.#room;
  }

  /** The other end answers at once. */
  probe(): void {
    for (const onDelivered of this.#unconfirmed.splice(0)) onDelivered();
  }

  /** Has no room from now on, until the result is called. */
  fill(): () => void {
    this.#room = new Promise((resolve) => {
      this.#makeRoom = resolve;
    });
    return () => {
      this.#room = undefined;
      this.#makeRoom();
    };
  }

  close(): void {
    for (const end of [this, this.other]) {
      end.#isOver = true;
      end.#makeRoom();
      end.#resolve();
    }
  }

  #arrive(frame: Uint8Array): void {
    if (this.#isOver) return;
    this.#inbox.push(frame);
    queueMicrotask(() => this.#drain());
  }

  #drain(): void {
    while (this.#receive && !this.#isBusy && this.#inbox.length > 0) {
      const pending = this.#receive(this.#inbox.shift()!);
      if (!pending) continue;
      this.#isBusy = true;
      void pending.then(() => {
        this.#isBusy = false;
        this.#drain();
      });
    }
  }
}
