/** A place on a node: the end of a conversation, or somebody who waits for an answer. */
export interface Address {
  readonly node: string;
  readonly place: string;
}

export const isSameAddress = (one: Address, other: Address): boolean =>
  one.node === other.node && one.place === other.place;

/** Takes what the bus brings to this node. */
export interface BusReceiver {
  received(place: string, payload: Uint8Array, from: Address): void;
  /** Something sent from the place found no node at its address. */
  unreachable(place: string): void;
  /** Messages may have been lost, in both directions. */
  interrupted(): void;
}

/** Carries messages between nodes: in order between two nodes, at most once, and without holding any back. */
export interface Bus extends AsyncDisposable {
  /** What this node is called; new with every start. */
  readonly node: string;
  open(receiver: BusReceiver): Promise<void>;
  send(to: Address, payload: Uint8Array, from: Address): void;
}

/** The bus of a node that is alone. */
export class LocalBus implements Bus {
  readonly node: string;
  #receiver: BusReceiver | undefined;

  constructor(node: string) {
    this.node = node;
  }

  async open(receiver: BusReceiver): Promise<void> {
    this.#receiver = receiver;
  }

  send(to: Address, payload: Uint8Array, from: Address): void {
    if (to.node === this.node) this.#receiver?.received(to.place, payload, from);
    else queueMicrotask(() => this.#receiver?.unreachable(from.place));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#receiver = undefined;
  }
}
