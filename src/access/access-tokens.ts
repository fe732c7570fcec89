import { type AccessToken, grantOf } from './access-token.ts';
import type { Grant } from './grant.ts';

/** Is told what becomes of the tokens when they are read again. */
export interface TokenFollower {
  /** Others are in force. `removed` are the names that are gone. */
  replaced(removed: ReadonlySet<string>): void;
  /** They are the same as before, since others could not be read. */
  kept(reason: string): void;
}

/** The tokens that are accepted now. */
export class AccessTokens {
  readonly #followers = new Set<TokenFollower>();
  #byDigest: ReadonlyMap<string, AccessToken>;
  #grants: ReadonlyMap<string, Grant | undefined>;

  constructor(tokens: readonly AccessToken[]) {
    this.#byDigest = byDigest(tokens);
    this.#grants = grantsOf(tokens);
  }

  /** The token with this digest. The lookup is by digest, so its timing reveals nothing about the token. */
  find(sha256: string): AccessToken | undefined {
    return this.#byDigest.get(sha256);
  }

  /** A token whose digest begins so. */
  findByPrefix(digits: string): AccessToken | undefined {
    return [...this.#byDigest.values()].find(({ sha256 }) => sha256.startsWith(digits));
  }

  /** What the token with this digest is good for on a server. */
  grantOf(sha256: string): Grant | undefined {
    return this.#grants.get(sha256);
  }

  replace(tokens: readonly AccessToken[]): void {
    const removed = new Set([...this.#byDigest.values()].map(({ name }) => name));
    for (const { name } of tokens) removed.delete(name);
    this.#byDigest = byDigest(tokens);
    this.#grants = grantsOf(tokens);
    for (const follower of this.#followers) follower.replaced(removed);
  }

  /** Says that others could not be read. */
  keep(reason: string): void {
    for (const follower of this.#followers) follower.kept(reason);
  }

  follow(follower: TokenFollower): Disposable {
    this.#followers.add(follower);
    return { [Symbol.dispose]: () => void this.#followers.delete(follower) };
  }
}

const byDigest = (tokens: readonly AccessToken[]): ReadonlyMap<string, AccessToken> =>
  new Map(tokens.map((token) => [token.sha256, token]));

const grantsOf = (tokens: readonly AccessToken[]): ReadonlyMap<string, Grant | undefined> =>
  new Map(tokens.map((token) => [token.sha256, grantOf(token)]));

/** The digest of a token, as files hold it. Loads `node:crypto` only here: loading it takes a tenth of the time to start. */
export const tokenDigest = (token: string): string =>
  process.getBuiltinModule('node:crypto').createHash('sha256').update(token).digest('hex');
