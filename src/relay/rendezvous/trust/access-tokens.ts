import { randomBytes } from 'node:crypto';
import { sha256 } from '../api/identifiers.ts';

export const scopes = ['executor', 'harness', 'admin'] as const;
export type TokenScope = (typeof scopes)[number];

/** The bearer of a token, and the rights it grants. */
export interface Identity {
  /** A short name that is no secret, for the audit log and for limits. */
  readonly name: string;
  holds(scope: TokenScope): boolean;
  mayAct(scope: TokenScope, environmentId: string): boolean;
}

/** Identifies the bearers of tokens. */
export interface TokenVerifier {
  identify(token: string): Promise<Identity | undefined>;
}

export interface AccessToken {
  readonly sha256: string;
  readonly scope: TokenScope;
  /** Ids, in which `*` stands for anything. */
  readonly environments: readonly string[];
}

/** Random tokens. The service knows only their digests. */
export class AccessTokens implements TokenVerifier {
  #byDigest: ReadonlyMap<string, AccessToken>;

  constructor(tokens: readonly AccessToken[]) {
    this.#byDigest = byDigest(tokens);
  }

  replace(tokens: readonly AccessToken[]): void {
    this.#byDigest = byDigest(tokens);
  }

  /** The lookup is by digest, so its timing reveals nothing about the token. */
  async identify(token: string): Promise<Identity | undefined> {
    const digest = sha256(token).toString('hex');
    const known = this.#byDigest.get(digest);
    return known && grantedIdentity(digest.slice(0, 8), [known.scope], known.environments);
  }
}

const byDigest = (tokens: readonly AccessToken[]): ReadonlyMap<string, AccessToken> =>
  new Map(tokens.map((token) => [token.sha256, token]));

export function grantedIdentity(name: string, granted: readonly string[], environments: readonly string[]): Identity {
  const patterns = environments.map(pattern);
  return {
    name,
    holds: (scope) => granted.includes(scope),
    mayAct: (scope, environmentId) => granted.includes(scope) && patterns.some((each) => each.test(environmentId)),
  };
}

const pattern = (text: string): RegExp =>
  new RegExp(
    `^${text
      .split('*')
      .map((part) => part.replace(/[^\w-]/g, '\\$&'))
      .join('.*')}$`,
  );

/** One token for each scope, for every environment. */
export function freshTokens(): {
  readonly shown: Readonly<Record<TokenScope, string>>;
  readonly tokens: AccessToken[];
} {
  const made = scopes.map((scope) => ({ scope, token: randomBytes(32).toString('base64url') }));
  return {
    shown: Object.fromEntries(made.map(({ scope, token }) => [scope, token])) as Record<TokenScope, string>,
    tokens: made.map(({ scope, token }) => ({ sha256: sha256(token).toString('hex'), scope, environments: ['*'] })),
  };
}

const PATTERN = /^[\w*-]+$/;

/** Reads `{"tokens":[{"sha256","scope","environments"}]}`; throws an error that names what is wrong. */
export function parseTokens(text: string): AccessToken[] {
  const file = JSON.parse(text) as { tokens?: unknown };
  if (!Array.isArray(file?.tokens)) throw new Error('"tokens" is not a list');
  const seen = new Map<string, number>();
  return file.tokens.map((entry: Partial<AccessToken> | null, index) => {
    const { sha256, scope, environments } = entry ?? {};
    const fail = (what: string): never => {
      throw new Error(`tokens[${index}]: ${what}`);
    };
    if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/i.test(sha256)) fail('"sha256" is not 64 hex digits');
    if (!scopes.includes(scope as TokenScope)) fail(`"scope" is none of ${scopes.join(', ')}`);
    const valid = Array.isArray(environments) && environments.every((id) => typeof id === 'string' && PATTERN.test(id));
    if (!valid) fail('"environments" is not a list of ids, in which * stands for anything');
    const digest = sha256!.toLowerCase();
    if (seen.has(digest)) fail(`is the token of tokens[${seen.get(digest)}]; make another for another scope`);
    seen.set(digest, index);
    return { sha256: digest, scope: scope!, environments: environments! };
  });
}
