/** An HTTP error answer: the status, a code for programs and a message for people. */
export class HttpRefusal extends Error {
  override readonly name = 'HttpRefusal';
  readonly status: number;
  readonly code: string;
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, code: string, message: string, retryAfterSeconds?: number) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
