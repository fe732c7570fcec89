import { type Grant, unnamedGrant } from './grant.ts';

/**
 * granted ──its token was removed──▶ revoked
 *    └──────its time is over───────▶ expired
 */
export type LoginState =
  | { readonly phase: 'granted'; readonly grant: Grant }
  | { readonly phase: 'revoked' }
  | { readonly phase: 'expired' };

/** The login of one connection. What it may do follows the tokens that are in force; once it has ended it stays so. */
export class Login {
  readonly #granted: () => Grant | undefined;
  readonly #now: () => number;
  #state: LoginState;

  /** `granted` gives what the credential is good for now, or undefined if it is not accepted any more. */
  constructor(granted: () => Grant | undefined, now: () => number = Date.now) {
    this.#granted = granted;
    this.#now = now;
    this.#state = next(granted());
  }

  get state(): LoginState {
    if (this.#state.phase === 'granted' && hasExpired(this.#state.grant, this.#now()))
      this.#state = { phase: 'expired' };
    return this.#state;
  }

  /** To be called when other tokens are in force. */
  review(): void {
    if (this.state.phase === 'granted') this.#state = next(this.#granted());
  }
}

/** The login of a peer that is not asked for a token. */
export const unnamedLogin = (): Login => new Login(() => unnamedGrant);

const next = (grant: Grant | undefined): LoginState => (grant ? { phase: 'granted', grant } : { phase: 'revoked' });

function hasExpired({ expiresAtMs }: Grant, now: number): boolean {
  return expiresAtMs !== undefined && now >= expiresAtMs;
}
