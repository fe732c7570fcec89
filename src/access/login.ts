import { type Deferred, deferred } from '../base/index.ts';
import { type Grant, unnamedGrant } from './grant.ts';

/**
 * granted ──its token was removed──▶ revoked
 *    └──────its time is over───────▶ expired
 */
export type LoginState =
  | { readonly phase: 'granted'; readonly grant: Grant }
  | { readonly phase: 'revoked' }
  | { readonly phase: 'expired' };

/** Why a login has ended before its connection. */
export type LoginEnd = Exclude<LoginState['phase'], 'granted'>;

/** The login of one connection. What it may do follows the tokens that are in force; once it has ended it stays so. */
export class Login {
  readonly #granted: () => Grant | undefined;
  readonly #now: () => number;
  /** The name of the token, also after it has ended. */
  readonly tokenName: string | undefined;
  readonly #ended: Deferred<LoginEnd> = deferred();
  #state: LoginState;

  /** `granted` gives what the credential is good for now, or undefined if it is not accepted any more. */
  constructor(granted: () => Grant | undefined, now: () => number = Date.now) {
    this.#granted = granted;
    this.#now = now;
    const grant = granted();
    this.tokenName = grant?.tokenName;
    this.#state = this.#become(stateOf(grant));
  }

  get state(): LoginState {
    const state = this.#state;
    if (state.phase === 'granted' && hasExpired(state.grant, this.#now())) return this.#become({ phase: 'expired' });
    return state;
  }

  /** Resolves when it has ended; the connection has to be closed then. */
  get ended(): Promise<LoginEnd> {
    return this.#ended.promise;
  }

  /** Whether it ends by itself. */
  get expires(): boolean {
    return this.#state.phase === 'granted' && this.#state.grant.expiresAtMs !== undefined;
  }

  /** To be called when other tokens are in force, and from time to time where it `expires`. */
  review(): void {
    if (this.state.phase === 'granted') this.#become(stateOf(this.#granted()));
    void this.state;
  }

  #become(state: LoginState): LoginState {
    this.#state = state;
    if (state.phase !== 'granted') this.#ended.resolve(state.phase);
    return state;
  }
}

/** The login of a peer that is not asked for a token. */
export const unnamedLogin = (): Login => new Login(() => unnamedGrant);

const stateOf = (grant: Grant | undefined): LoginState => (grant ? { phase: 'granted', grant } : { phase: 'revoked' });

function hasExpired({ expiresAtMs }: Grant, now: number): boolean {
  return expiresAtMs !== undefined && now >= expiresAtMs;
}
