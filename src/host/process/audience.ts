/** Receives the events of a process: the client of its session, if one is attached. */
export interface ProcessAudience {
  /** Sends a message; the promise, if any, resolves when there is room for more. */
  send(message: string | Uint8Array, onDelivered?: () => void): void | Promise<void>;
  /** Whether the client has asked for the refusals of sandboxes. */
  readonly wantsDenials: boolean;
  /** Asks the client to confirm what it has received. */
  probe(): void;
  /** Asks the client for an answer, which shows that it has received all earlier messages. True if the transport cannot ask. */
  answers(): Promise<boolean>;
}
