/** Takes frames as they arrive. While a returned promise is pending the transport may stop reading. */
export type FrameReceiver = (frame: Uint8Array) => void | Promise<void>;

/** A frame whose payload is encrypted, in parts: the bytes before the payload, then the payload. The parts never change again. */
export type SealedFrame = readonly Uint8Array[];

/** A frame as it is sent. */
export type OutgoingFrame = Uint8Array | SealedFrame;

export function frameLength(frame: OutgoingFrame): number {
  if (frame instanceof Uint8Array) return frame.length;
  let length = 0;
  for (const part of frame) length += part.length;
  return length;
}

/** A connection to the rendezvous that carries whole frames, usually a WebSocket with binary messages. */
export interface FrameTransport {
  /** Settles when the connection is over. */
  readonly closed: Promise<void>;
  /** Starts handing over frames, those that came before included. Called once. */
  open(receive: FrameReceiver): void;
  /**
   * Queues a frame; the promise, if any, resolves once there is room for more or the connection is over.
   * `onDelivered` is called when the other end of this connection is known to have it.
   */
  send(frame: OutgoingFrame, onDelivered?: () => void): void | Promise<void>;
  /** Asks the other end to confirm the frames sent so far. */
  probe(): void;
  /** Ends the connection, once all frames sent before are on their way. */
  close(): void;
}
