/**
 * Takes messages from a link, in order. While a returned promise is pending the link hands over no other message, so a busy
 * receiver slows down its peer.
 */
export type Receiver = (message: Uint8Array) => void | Promise<void>;

/** The code and the reason of a WebSocket close frame. */
export interface CloseReason {
  readonly code: number;
  readonly reason: string;
}

/** A connection that carries whole messages: WebSocket, stdio, memory, a relayed stream. */
export interface Link {
  /** Describes a message from this link in error texts. */
  readonly source: string;
  /** The other end, for logs: its address, or the kind of the link. */
  readonly peer?: string | undefined;
  /** Settles when the connection is over. */
  readonly closed: Promise<void>;
  /** Whether the link ends by itself when the peer vanishes without closing it. */
  readonly noticesLoss?: boolean;
  /** The close frame of the peer, where the link has such frames. */
  readonly closeReason?: CloseReason | undefined;
  /** Starts handing over messages. Called once. */
  open(receive: Receiver): void;
  /**
   * Queues a message; the promise, if any, resolves once there is room for more. `onDelivered` is called when the
   * peer is known to have received it, and never if the connection ends first.
   */
  send(message: string | Uint8Array, onDelivered?: () => void): void | Promise<void>;
  /** Asks the peer to confirm the messages sent so far. */
  probe(): void;
  /**
   * Whether the peer answers a probe in time. A link without this method notices a lost peer itself (`noticesLoss`) or
   * cannot find out.
   */
  answers?(withinMs: number): Promise<boolean>;
  /** Ends the connection with a close frame, where the link has such frames. */
  close(closeReason?: CloseReason): void;
  /** Ends the connection without a close frame, after sending the messages that are queued. */
  destroy(): void;
}
