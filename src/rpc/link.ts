/**
 * Takes messages from a link, in order. While a returned promise is pending the link hands over nothing more, which
 * is how a busy receiver slows down its peer.
 */
export type Receiver = (message: Uint8Array) => void | Promise<void>;

/** Why a connection was ended, in the words and numbers of WebSocket. */
export interface Farewell {
  readonly code: number;
  readonly reason: string;
}

/** A connection that carries whole messages, whatever it is made of. */
export interface Link {
  /** What a message from here is called in an error text. */
  readonly source: string;
  /** Settles when the connection is over, for whatever reason. */
  readonly closed: Promise<void>;
  /** Whether the connection ends by itself when the peer is gone without a word. */
  readonly noticesLoss?: boolean;
  /** What the peer said when it ended the connection, where the link can tell. */
  readonly farewell?: Farewell | undefined;
  /** Starts handing over messages. Called once. */
  open(receive: Receiver): void;
  /**
   * Queues a message; the promise, if any, resolves once there is room for more. `onDelivered` is called when the
   * peer is known to have received it, and never if the connection ends first.
   */
  send(message: string | Uint8Array, onDelivered?: () => void): void | Promise<void>;
  /** Asks the peer to confirm what was sent so far. */
  probe(): void;
  /**
   * Asks the peer for a sign of life; false when none comes in time or the connection ends. A link without this method
   * notices a lost peer itself or cannot tell.
   */
  answers?(withinMs: number): Promise<boolean>;
  /** Ends the connection in the orderly way, and says why where the link can. */
  close(farewell?: Farewell): void;
  /** Ends the connection without a word, once what was sent before is on its way. */
  destroy(): void;
}
