/**
 * Why something was not done: by policy or rule, or because the user declined. `escalation` is the wish to leave the
 * sandbox where nobody may have it: a mistake of the call, found before anything else was looked at.
 */
export type RejectionKind = 'policy' | 'escalation' | 'user';

/** A command that may not run. The message is meant for whoever asked for it. */
export class Rejected extends Error {
  override readonly name = 'Rejected';
  readonly kind: RejectionKind;

  constructor(kind: RejectionKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** The user ended the whole undertaking, or whoever waited for the answer went away. */
export class Cancelled extends Error {
  override readonly name = 'Cancelled';

  constructor(message = 'rejected by user') {
    super(message);
  }
}
