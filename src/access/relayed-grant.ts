import { scopes } from '../protocol/scopes.ts'; // without the schemas, which a server needs only once it listens
import { type Grant, type TokenLimits, unnamedGrant } from './grant.ts';

/** What a registry tells of the token of a harness that it vouches for. Others than ours tell nothing. */
export type HarnessFacts = Readonly<Record<string, unknown>>;

/** The facts of a grant, for the environment that the harness connects to. */
export function harnessFacts({ tokenName, scopes: granted, limits }: Grant): HarnessFacts {
  return { token: tokenName, scopes: [...granted], limits };
}

/** What a harness may do. Scopes in another form than a list grant nothing. */
export function relayedGrant({ token, scopes: told, limits }: HarnessFacts): Grant {
  const granted = Array.isArray(told) ? new Set(scopes.filter((scope) => told.includes(scope))) : new Set<never>();
  return {
    tokenName: typeof token === 'string' ? token : undefined,
    scopes: told === undefined ? unnamedGrant.scopes : granted,
    limits: readLimits(Object(limits) as Record<string, unknown>),
  };
}

function readLimits({ sessions, processes }: Readonly<Record<string, unknown>>): TokenLimits {
  return {
    ...(typeof sessions === 'number' && { sessions }),
    ...(typeof processes === 'number' && { processes }),
  };
}
