import { randomBytes } from 'node:crypto';
import {
  type AccessToken,
  AccessTokens,
  type Grant,
  harnessFacts,
  harnessGrant,
  parseTokens,
  tokenDigest,
} from '../../../access/index.ts';
import { type Identity, identityOf, scopes, type TokenScope, type TokenVerifier } from './identity.ts';

/** The tokens of a file. The service knows only their digests. */
export class FileTokens implements TokenVerifier {
  readonly #tokens: AccessTokens;
  readonly #now: () => number;

  constructor(tokens: AccessTokens, now: () => number = Date.now) {
    this.#tokens = tokens;
    this.#now = now;
  }

  async identify(token: string): Promise<Identity | undefined> {
    return this.#identity(this.#tokens.find(tokenDigest(token)));
  }

  marked(mark: string): Identity | undefined {
    const [digits = ''] = mark.split('.');
    return digits.length === MARK_DIGITS ? this.#identity(this.#tokens.findByPrefix(digits)) : undefined;
  }

  follow(changed: () => void): Disposable {
    return this.#tokens.follow({ replaced: changed, kept: () => {} });
  }

  #identity(token: AccessToken | undefined): Identity | undefined {
    if (!token || (token.expiresAtMs !== undefined && this.#now() >= token.expiresAtMs)) return undefined;
    const grant = harnessGrant(token);
    return identityOf({ ...token, mark: markOf(token, grant), grant });
  }
}

/** For a harness with a digest of what environments are told of it. */
function markOf({ sha256, rights }: AccessToken, grant: Grant): string {
  const digits = sha256.slice(0, MARK_DIGITS);
  if (!rights.includes('harness')) return digits;
  return `${digits}.${tokenDigest(JSON.stringify(harnessFacts(grant))).slice(0, MARK_DIGITS)}`;
}

/** As many of the digest's digits as logs show for a token without a name. */
const MARK_DIGITS = 8;

/** An entry of the form that the rendezvous had first. */
interface FreshToken {
  readonly sha256: string;
  readonly scope: TokenScope;
  readonly environments: readonly string[];
}

/** One random token for each scope, for every environment. */
export function freshTokens(): {
  readonly shown: Readonly<Record<TokenScope, string>>;
  readonly tokens: readonly FreshToken[];
  readonly verifier: TokenVerifier;
} {
  const made = scopes.map((scope) => ({ scope, token: randomBytes(32).toString('base64url') }));
  const tokens = made.map(({ scope, token }) => ({ sha256: tokenDigest(token), scope, environments: ['*'] }));
  return {
    shown: Object.fromEntries(made.map(({ scope, token }) => [scope, token])) as Record<TokenScope, string>,
    tokens,
    verifier: new FileTokens(new AccessTokens(parseTokens(JSON.stringify({ tokens })))),
  };
}
