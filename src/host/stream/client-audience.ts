/** Receives events: the client of a session, if one is attached. */
export interface ClientAudience {
  /** Sends a message; the promise, if any, resolves when there is room for more. */
  send(message: string | Uint8Array, onDelivered?: () => void): void | Promise<void>;
  /** Asks the client to confirm what it has received. */
  probe(): void;
  /** Asks the client for an answer, which shows that it has received all earlier messages. True if the transport cannot ask. */
  answers(): Promise<boolean>;
}
