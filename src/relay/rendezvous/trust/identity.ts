import type { Grant, RelayRight } from '../../../access/index.ts';

/** What a token can be good for at the registry. */
export const scopes = ['executor', 'harness', 'admin'] as const satisfies readonly (RelayRight | 'admin')[];
export type TokenScope = (typeof scopes)[number];

/** The bearer of a token, and the rights it grants. */
export interface Identity {
  /** A short name that is no secret, for the audit log and for limits. */
  readonly name: string;
  /**
   * Stands for the token in what this service signs, so that a socket can be closed when the token is not good any more. The token
   * cannot be found out from it. It changes when a harness with the token may do something else.
   */
  readonly mark: string;
  /** What a harness with this token may do in the environments that it reaches. */
  readonly grant: Grant;
  holds(scope: TokenScope): boolean;
  mayAct(scope: TokenScope, environmentId: string): boolean;
}

/** Identifies the bearers of tokens. */
export interface TokenVerifier {
  identify(token: string): Promise<Identity | undefined>;
  /** The bearer of the token that a mark stands for, with the mark that it has now; undefined if it is not good any more. */
  marked(mark: string): Identity | undefined;
  /** Calls a function when other tokens are in force. */
  follow(changed: () => void): Disposable;
}

export interface IdentityFacts {
  readonly name: string;
  readonly mark: string;
  readonly rights: readonly string[];
  readonly environments: readonly string[];
  readonly grant: Grant;
}

export function identityOf({ rights, environments, ...facts }: IdentityFacts): Identity {
  const patterns = environments.map(pattern);
  return {
    ...facts,
    holds: (scope) => rights.includes(scope),
    mayAct: (scope, environmentId) => rights.includes(scope) && patterns.some((each) => each.test(environmentId)),
  };
}

const pattern = (text: string): RegExp =>
  new RegExp(
    `^${text
      .split('*')
      .map((part) => part.replace(/[^\w-]/g, '\\$&'))
      .join('.*')}$`,
  );

/** Asks one verifier after the other. */
export function anyOf(verifiers: readonly TokenVerifier[]): TokenVerifier {
  return {
    async identify(token) {
      for (const verifier of verifiers) {
        const identity = await verifier.identify(token);
        if (identity) return identity;
      }
      return undefined;
    },
    marked(mark) {
      for (const verifier of verifiers) {
        const identity = verifier.marked(mark);
        if (identity) return identity;
      }
      return undefined;
    },
    follow(changed) {
      const following = verifiers.map((verifier) => verifier.follow(changed));
      return {
        [Symbol.dispose]: () => {
          for (const each of following) each[Symbol.dispose]();
        },
      };
    },
  };
}
