import type { AccessToken, TokenRight } from './access-token.ts';
import { tokenRights } from './access-token.ts';
import type { TokenLimits } from './grant.ts';

/** A token as it stands in the file. */
export interface TokenEntry {
  readonly name: string;
  readonly sha256: string;
  readonly scopes: readonly TokenRight[];
  readonly environments?: readonly string[];
  readonly limits?: TokenLimits;
  /** A date and time with its time zone, as `2027-01-31T12:00:00Z`. */
  readonly expires?: string;
}

const MEMBERS = ['name', 'sha256', 'scopes', 'environments', 'limits', 'expires'];
const LIMITS = ['sessions', 'processes', 'durableBytes'];
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const ENVIRONMENT = /^[\w*-]+$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/;

export const isTokenName = (text: string): boolean => NAME.test(text);
export const isEnvironmentPattern = (text: string): boolean => ENVIRONMENT.test(text);

/**
 * Reads `{"tokens":[{"name","sha256","scopes","environments"?,"limits"?,"expires"?}]}`, or entries of the older form
 * `{"sha256","scope","environments"}` for a rendezvous; throws an error that names the entry and what is wrong with it.
 */
export function parseTokens(text: string): AccessToken[] {
  const { tokens: entries } = Object(readJson(text)) as { tokens?: unknown };
  if (!Array.isArray(entries)) throw new Error('"tokens" is not a list');
  const tokens = entries.map((entry: unknown, index) => {
    try {
      return parseEntry(Object(entry) as Record<string, unknown>);
    } catch (error) {
      throw new Error(`tokens[${index}]: ${(error as Error).message}`);
    }
  });
  for (const [index, token] of tokens.entries()) {
    const twin = tokens.findIndex(({ sha256 }) => sha256 === token.sha256);
    if (twin < index)
      throw new Error(`tokens[${index}]: is the token of tokens[${twin}]; make another for other scopes`);
    const namesake = tokens.findIndex(({ name }) => name === token.name);
    if (namesake < index) throw new Error(`tokens[${index}]: has the name of tokens[${namesake}], "${token.name}"`);
  }
  return tokens;
}

/** Without the parser's own error, which quotes the text: it may be that of another file, such as a token itself. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('it is not JSON; a file of tokens is made by `exec-server token add`');
  }
}

function parseEntry(entry: Record<string, unknown>): AccessToken {
  const { sha256 } = entry;
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/i.test(sha256)) throw new Error('"sha256" is not 64 hex digits');
  const digest = sha256.toLowerCase();
  const isOlder = entry.scopes === undefined && (entry.scope !== undefined || entry.name === undefined);
  return isOlder ? olderEntry(entry, digest) : presentEntry(entry, digest);
}

/** The form that the rendezvous had first, without names: the first digits of the digest serve as one. */
function olderEntry({ scope, environments, ...more }: Record<string, unknown>, sha256: string): AccessToken {
  const newer = ['limits', 'expires'].find((member) => more[member] !== undefined);
  if (newer !== undefined) throw new Error(`"${newer}" works only in an entry with "scopes" instead of "scope"`);
  const rights = ['executor', 'harness', 'admin'] as const;
  const right = rights.find((each) => each === scope);
  if (!right)
    throw new Error(`"scope" is none of ${rights.join(', ')}; "scopes" is a list of ${tokenRights.join(', ')}`);
  const name = typeof more.name === 'string' && isTokenName(more.name) ? more.name : sha256.slice(0, 8);
  return { name, sha256, rights: [right], environments: readEnvironments(environments), limits: {}, isOlder: true };
}

function presentEntry(entry: Record<string, unknown>, sha256: string): AccessToken {
  // A misspelt limit or expiry would be none.
  const unknown = Object.keys(entry).find((key) => !MEMBERS.includes(key));
  if (unknown !== undefined) throw new Error(`has no member "${unknown}"; members are ${MEMBERS.join(', ')}`);
  const { name, scopes, environments, limits, expires } = entry;
  if (typeof name !== 'string' || !isTokenName(name)) {
    throw new Error('"name" is not 1 to 64 characters of A-Z a-z 0-9 . _ -, the first a letter or digit');
  }
  if (!Array.isArray(scopes)) throw new Error(`"scopes" is not a list of ${tokenRights.join(', ')}`);
  const wrong = scopes.find((scope) => !tokenRights.includes(scope as TokenRight));
  if (wrong !== undefined) throw new Error(`${JSON.stringify(wrong)} in "scopes" is none of ${tokenRights.join(', ')}`);
  const rights = [...new Set(scopes as TokenRight[])];
  const isForRelay = rights.some((right) => right === 'executor' || right === 'harness');
  if (isForRelay && environments === undefined) throw new Error('"executor" and "harness" need "environments"');
  return {
    name,
    sha256,
    rights,
    environments: environments === undefined ? [] : readEnvironments(environments),
    limits: limits === undefined ? {} : readLimits(limits),
    ...(expires !== undefined && { expiresAtMs: readTime(expires) }),
  };
}

function readEnvironments(value: unknown): readonly string[] {
  const isList = Array.isArray(value) && value.every((id) => typeof id === 'string' && isEnvironmentPattern(id));
  if (!isList) throw new Error('"environments" is not a list of ids, in which * stands for anything');
  return value as string[];
}

function readLimits(value: unknown): TokenLimits {
  const limits = Object.entries(Object(value) as Record<string, unknown>);
  for (const [name, most] of limits) {
    if (!LIMITS.includes(name)) throw new Error(`"limits" has no member "${name}"; members are ${LIMITS.join(', ')}`);
    if (!Number.isSafeInteger(most) || (most as number) < 0)
      throw new Error(`"${name}" in "limits" is not a whole number`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('"limits" is not an object');
  return Object.fromEntries(limits) as TokenLimits;
}

function readTime(value: unknown): number {
  const time = typeof value === 'string' && TIME.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(time))
    throw new Error('"expires" is not a date and time with a time zone, such as 2027-01-31T12:00:00Z');
  return time;
}
