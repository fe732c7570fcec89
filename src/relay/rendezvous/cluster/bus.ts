/** A place on a node: one end of a link, or a query that waits for its answer. */
export interface Address {
  readonly node: string;
  readonly place: string;
}

export const isSameAddress = (one: Address, other: Address): boolean =>
  one.node === other.node && one.place === other.place;

/** Receives the messages for this node. */
export interface BusReceiver {
  received(place: string, payload: Uint8Array, from: Address): void;
  /** A message from this place found no node at its address. */
  unreachable(place: string): void;
  /** Messages may have been lost, in both directions. */
  interrupted(): void;
}

/** Carries messages between nodes: in order between two nodes, and at most once. */
export interface Bus extends AsyncDisposable {
  /** The name of this node, another one after every start. */
  readonly node: string;
  open(receiver: BusReceiver): Promise<void>;
  send(to: Address, payload: Uint8Array, from: Address): void;
}

/** The bus of a node without a cluster. */
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
