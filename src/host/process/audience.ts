/** Where the events of a process go: the client of its session, if one is attached. */
export interface ProcessAudience {
  /** Passes on a message; the promise, if any, resolves when there is room for more. */
  send(message: string | Uint8Array, onDelivered?: () => void): void | Promise<void>;
  /** Whether the client has asked for the refusals of sandboxes. */
  readonly wantsDenials: boolean;
  /** Asks the client to confirm what it has received. */
  probe(): void;
  /** Whether the client gives a sign of life, which shows that it has what was sent before. True where none can be asked for one. */
  answers(): Promise<boolean>;
}
