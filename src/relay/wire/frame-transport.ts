/** Takes frames as they arrive. While a returned promise is pending the transport may stop reading. */
export type FrameReceiver = (frame: Uint8Array) => void | Promise<void>;

/** A frame whose payload is encrypted: what goes before the payload, and the payload. Nobody changes the parts any more. */
export type SealedFrame = readonly Uint8Array[];

export function frameLength(frame: Uint8Array | SealedFrame): number {
  if (frame instanceof Uint8Array) return frame.length;
  let length = 0;
  for (const part of frame) length += part.length;
  return length;
}

/** A connection to the rendezvous that carries whole frames, usually a WebSocket with binary messages. */
export interface FrameTransport {
  /** Settles when the connection is over, for whatever reason. */
  readonly closed: Promise<void>;
  /** Starts handing over frames, those that came before included. Called once. */
  open(receive: FrameReceiver): void;
  /**
   * Queues a frame; the promise, if any, resolves once there is room for more or the connection is over.
   * `onDelivered` is called when the other end of this connection is known to have it.
   */
  send(frame: Uint8Array | SealedFrame, onDelivered?: () => void): void | Promise<void>;
  /** Asks the other end to confirm what was sent so far. */
  probe(): void;
  /** Ends the connection, once what was sent before is on its way. */
  close(): void;
}
