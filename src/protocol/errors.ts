const codes = {
  invalidRequest: -32600, // wrong moment: not initialized, duplicate or unknown process id
  methodNotFound: -32601,
  invalidParams: -32602, // wrong shape: missing field, empty argv
  internal: -32603, // ours: spawn failed, disk failed
  notFound: -32004, // filesystem: no such file
  sessionAttached: -32010, // the session to resume still has a connection
  stdinFull: -32011, // too much waits for processes to read it; the write was not taken and can be repeated
} as const;

export type ErrorKind = keyof typeof codes;

export interface WireError {
  readonly code: number;
  readonly message: string;
}

/** Every failure that crosses the wire. */
export class ExecError extends Error {
  override readonly name = 'ExecError';
  readonly kind: ErrorKind;

  constructor(kind: ErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }

  /** Anything a handler can throw becomes an error the caller can act on. */
  static from(thrown: unknown): ExecError {
    if (thrown instanceof ExecError) return thrown;
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return new ExecError('internal', message, { cause: thrown });
  }

  /** The error a peer sent; a code we do not know counts as the peer's internal error. */
  static fromWire({ code, message }: WireError): ExecError {
    const kind = (Object.keys(codes) as ErrorKind[]).find((name) => codes[name] === code);
    return new ExecError(kind ?? 'internal', message);
  }

  toWire(): WireError {
    return { code: codes[this.kind], message: this.message };
  }
}
