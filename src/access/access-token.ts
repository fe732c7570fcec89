import type { Scope } from '../protocol/index.ts';
import { scopes } from '../protocol/scopes.ts'; // without the schemas, which a server needs only once it listens
import { type Grant, type TokenLimits, unnamedGrant } from './grant.ts';

/** What a token may do at a rendezvous, for the environments that it names: register as one, and connect to one. */
export const relayRights = ['executor', 'harness'] as const;
export type RelayRight = (typeof relayRights)[number];

/** Everything that a token can be good for. None implies another. */
export const tokenRights: readonly TokenRight[] = [...scopes, ...relayRights];
export type TokenRight = Scope | RelayRight;

/** A token that is accepted. The token itself is known to its holder alone. */
export interface AccessToken {
  readonly name: string;
  /** 64 hex digits in lower case. */
  readonly sha256: string;
  readonly rights: readonly TokenRight[];
  /** The environments of `executor`, `harness` and, at a rendezvous, `admin`: ids, in which `*` stands for anything. */
  readonly environments: readonly string[];
  readonly limits: TokenLimits;
  readonly expiresAtMs?: number | undefined;
  /** Its entry is of the form that the rendezvous had first, which could not name the scopes of a server. */
  readonly isOlder?: true;
}

/** What a harness with the token may do in the environments that it reaches through a relay: what the token names, and no more. */
export function harnessGrant({ name, rights, limits, expiresAtMs, isOlder }: HarnessToken): Grant {
  const named = new Set(scopes.filter((scope) => rights.includes(scope)));
  return { tokenName: name, scopes: isOlder ? unnamedGrant.scopes : named, limits, expiresAtMs };
}

export interface HarnessToken extends Pick<AccessToken, 'name' | 'limits' | 'expiresAtMs' | 'isOlder'> {
  readonly rights: readonly string[];
}

/** What the holder may do on a server; undefined for a token that is good at a rendezvous only. */
export function grantOf({ name, rights, limits, expiresAtMs }: AccessToken): Grant | undefined {
  const granted = scopes.filter((scope) => rights.includes(scope));
  if (granted.length === 0 && rights.length > 0) return undefined;
  return { tokenName: name, scopes: new Set(granted), limits, expiresAtMs };
}
