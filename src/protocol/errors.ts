const codes = {
  invalidRequest: -32600, // wrong moment: not initialized, duplicate or unknown process id
  methodNotFound: -32601,
  invalidParams: -32602, // wrong shape: missing field, empty argv
  internal: -32603, // the server's fault: spawn failed, disk failed
  notFound: -32004, // filesystem: no such file
  sessionAttached: -32010, // the session to resume still has a connection
  stdinFull: -32011, // too much waits for processes to read it; the write was not taken and can be repeated
  forbidden: -32012, // the token does not grant the scope of the method, has ended, or has reached a limit
} as const;

export type ErrorKind = keyof typeof codes;

/** Facts about a failure. Clients make a better sentence of them than the message, which equals the reference's. */
export interface ErrorDetails {
  /** The name of the system's error, such as ENOENT. */
  readonly errno?: string;
  /** The part of a start that is at fault; absent for files, and where it is not known. */
  readonly subject?: 'program' | 'cwd' | 'sandbox' | 'user';
  /** The file or directory at fault, as a `file:` URI. */
  readonly path?: string;
  /** The PATH in which a program was looked for. */
  readonly searched?: string;
}

export interface WireError {
  readonly code: number;
  readonly message: string;
  /** Extension: for clients with the capability `errorDetails`. */
  readonly data?: ErrorDetails;
}

export interface ExecErrorOptions extends ErrorOptions {
  readonly details?: ErrorDetails | undefined;
}

/** Every failure that crosses the wire. */
export class ExecError extends Error {
  override readonly name = 'ExecError';
  readonly kind: ErrorKind;
  readonly details: ErrorDetails | undefined;

  constructor(kind: ErrorKind, message: string, options?: ExecErrorOptions) {
    super(message, options);
    this.kind = kind;
    this.details = options?.details;
  }

  /** The `ExecError` for any thrown value. */
  static from(thrown: unknown): ExecError {
    if (thrown instanceof ExecError) return thrown;
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return new ExecError('internal', message, { cause: thrown });
  }

  /** The error that a peer sent; an unknown code means an internal error of the peer. */
  static fromWire({ code, message, data }: WireError): ExecError {
    const kind = (Object.keys(codes) as ErrorKind[]).find((name) => codes[name] === code);
    return new ExecError(kind ?? 'internal', message, { details: knownDetails(data) });
  }

  /** The same error with more facts. */
  with(details: ErrorDetails): ExecError {
    return new ExecError(this.kind, this.message, { cause: this.cause, details: { ...this.details, ...details } });
  }

  toWire({ detailed = false } = {}): WireError {
    const { kind, message, details } = this;
    return { code: codes[kind], message, ...(detailed && details && { data: details }) };
  }
}

/** Peers may send anything as `data`. */
function knownDetails(data: unknown): ErrorDetails | undefined {
  const { errno, subject, path, searched } = Object(data) as Record<string, unknown>;
  const details = {
    ...(typeof errno === 'string' && { errno }),
    ...(isSubject(subject) && { subject }),
    ...(typeof path === 'string' && { path }),
    ...(typeof searched === 'string' && { searched }),
  };
  return Object.keys(details).length > 0 ? details : undefined;
}

function isSubject(subject: unknown): subject is NonNullable<ErrorDetails['subject']> {
  return ['program', 'cwd', 'sandbox', 'user'].includes(subject as string);
}
