import type { Scope } from '../protocol/index.ts';
import { scopes } from '../protocol/scopes.ts'; // without the schemas, which a server needs only once it listens

/** How much the holder of a token may have at a time; absent means no limit of the token's own. */
export interface TokenLimits {
  /** Sessions, attached or waiting to be resumed. */
  readonly sessions?: number;
  /** Processes that have not closed, over all its sessions. */
  readonly processes?: number;
  /** Bytes kept for it on disk. Nothing is kept there yet. */
  readonly durableBytes?: number;
}

/** What a connection may do. */
export interface Grant {
  /** The name of the token that was presented. Undefined for a token without a name, and for a peer without a token. */
  readonly tokenName?: string | undefined;
  readonly scopes: ReadonlySet<Scope>;
  readonly limits: TokenLimits;
  /** By the clock of the machine, in milliseconds of Unix time. */
  readonly expiresAtMs?: number | undefined;
}

/**
 * The grant of those who were let in without being told apart: peers without a token, the token of the reference's flags, signed
 * tokens without a scope, streams of a registry that names none.
 */
export const unnamedGrant: Grant = { scopes: new Set(scopes.filter((scope) => scope !== 'admin')), limits: {} };
