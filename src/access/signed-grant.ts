import type { Scope } from '../protocol/index.ts';
import { scopes } from '../protocol/scopes.ts'; // without the schemas, which a server needs only once it listens
import { tokenDigest } from './access-tokens.ts';
import { type Grant, unnamedGrant } from './grant.ts';

/**
 * What the verified claims of a signed token grant: the scopes in the list `scopes` or, separated by spaces, in the text `scope`, of
 * which unknown ones are for others; without such a claim those of a token without a name.
 */
export function signedGrant(claims: Readonly<Record<string, unknown>>, expiresAtMs: number): Grant {
  const claimed = claimedScopes(claims);
  const granted = claimed ? new Set(scopes.filter((scope) => claimed.includes(scope))) : unnamedGrant.scopes;
  return { tokenName: signedName(claims.sub), scopes: granted as ReadonlySet<Scope>, limits: {}, expiresAtMs };
}

/** The scopes that a signed token claims; undefined without a claim. A claim of another type grants nothing: it was meant to say something. */
export function claimedScopes({
  scopes: list,
  scope: text,
}: Readonly<Record<string, unknown>>): readonly unknown[] | undefined {
  if (list === undefined && text === undefined) return undefined;
  if (list !== undefined) return Array.isArray(list) ? list : [];
  return typeof text === 'string' ? text.split(' ') : [];
}

/** The name of a signed token with this subject. No token of a file can have such a name. The holders of signed tokens without a subject are not told apart. */
export function signedName(subject: unknown): string {
  const text = typeof subject === 'string' ? subject : '';
  return `jwt:${text.length <= LONGEST_SUBJECT ? text : tokenDigest(text)}`;
}

/** Names stand in every line of the log. */
const LONGEST_SUBJECT = 128;
