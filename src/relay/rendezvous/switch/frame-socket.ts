/** A WebSocket that carries relay frames. */
export interface FrameSocket {
  /** `written` is called when the frame was written to the socket or dropped with it. */
  send(frame: Uint8Array, written?: () => void): void;
  /** Stops reading. Frames that were read before still arrive. */
  pause(): void;
  resume(): void;
  /** Pings the peer and ends the socket if no answer comes. */
  probe(): void;
  close(code: number, reason: string): void;
}

/** Receives the frames of a WebSocket. */
export interface FrameListener {
  receive(frame: Uint8Array): void;
  ended(): void;
}

/** A receiver that exists before its WebSocket is open. */
export interface SocketOwner extends FrameListener {
  attach(socket: FrameSocket): void;
}

export interface Closing {
  readonly code: number;
  readonly reason: string;
}

/** The codes and reasons with which the service closes a socket. */
export const closings = {
  goingAway: { code: 1001, reason: 'going away' },
  notBinary: { code: 1003, reason: 'frames are binary' },
  invalidFrame: { code: 1008, reason: 'invalid frame' },
  replaced: { code: 4409, reason: 'replaced' },
  removed: { code: 4410, reason: 'removed' },
  revoked: { code: 1008, reason: 'the token was revoked' },
  expired: { code: 1008, reason: 'the token has expired' },
  changed: { code: 1012, reason: 'the token grants something else now' },
} as const satisfies Readonly<Record<string, Closing>>;
