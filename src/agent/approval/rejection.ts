/**
 * The cause of a rejection: a policy or rule, or the user's answer. `escalation` is a request to leave the sandbox under a
 * policy that forbids it: a mistake of the call, found before its other arguments are checked.
 */
export type RejectionKind = 'policy' | 'escalation' | 'user';

/** A command may not run, or files may not be changed. The message is for the model. */
export class Rejected extends Error {
  override readonly name = 'Rejected';
  readonly kind: RejectionKind;

  constructor(kind: RejectionKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** The user ended the turn, or the caller gave up. */
export class Cancelled extends Error {
  override readonly name = 'Cancelled';

  constructor(message = 'rejected by user') {
    super(message);
  }
}
