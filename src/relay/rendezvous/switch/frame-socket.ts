/** A websocket as the switchboard sees it. */
export interface FrameSocket {
  /** `written` is called when the frame has left, or never will. */
  send(frame: Uint8Array, written?: () => void): void;
  /** Stops reading; what was read already still comes. */
  pause(): void;
  resume(): void;
  /** Gives the peer a few seconds to show that it is there. */
  probe(): void;
  close(code: number, reason: string): void;
}

/** Takes what comes from a websocket. */
export interface FrameReceiver {
  receive(frame: Uint8Array): void;
  ended(): void;
}

/** Why the service closes a socket. */
export const closeCodes = {
  goingAway: 1001,
  notBinary: 1003,
  invalidFrame: 1008,
  replaced: 4409,
  removed: 4410,
} as const;
