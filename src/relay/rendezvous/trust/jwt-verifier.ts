import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { shortHash } from '../api/identifiers.ts';
import { grantedIdentity, type Identity, type TokenVerifier } from './access-tokens.ts';

export interface JwtOptions {
  /** A JSON Web Key Set. */
  readonly keys: unknown;
  readonly issuer?: string;
  readonly audience?: string;
}

/** JSON Web Tokens of a trusted issuer, with the claims `scope`, `environments` and `exp`. */
export class JwtVerifier implements TokenVerifier {
  readonly #keys: ReturnType<typeof createLocalJWKSet>;
  readonly #options: JwtOptions;

  constructor(options: JwtOptions) {
    this.#keys = createLocalJWKSet(options.keys as JSONWebKeySet);
    this.#options = options;
  }

  async identify(token: string): Promise<Identity | undefined> {
    const { issuer, audience } = this.#options;
    try {
      const { payload } = await jwtVerify(token, this.#keys, {
        requiredClaims: ['exp', 'scope', 'environments'],
        ...(issuer !== undefined && { issuer }),
        ...(audience !== undefined && { audience }),
      });
      const { scope, environments } = payload;
      if (typeof scope !== 'string' || !Array.isArray(environments)) return undefined;
      return grantedIdentity(`jwt-${shortHash(token)}`, scope.split(' '), environments.map(String));
    } catch {
      return undefined; // the bearer of an invalid token is told no more than that
    }
  }
}

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
  };
}
