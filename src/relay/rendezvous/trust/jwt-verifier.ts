import { createLocalJWKSet, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose';
import { claimedScopes, harnessGrant, signedName } from '../../../access/index.ts';
import { shortHash } from '../api/identifiers.ts';
import { type Identity, identityOf, type TokenVerifier } from './identity.ts';

export interface JwtOptions {
  /** A JSON Web Key Set. */
  readonly keys: unknown;
  readonly issuer?: string;
  readonly audience?: string;
}

/** JSON Web Tokens of a trusted issuer, with the claims `scope` or `scopes`, `environments` and `exp`. */
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
        requiredClaims: ['exp', 'environments'],
        ...(issuer !== undefined && { issuer }),
        ...(audience !== undefined && { audience }),
      });
      return bearerOf(payload, token);
    } catch {
      return undefined; // the bearer of an invalid token is told no more than that
    }
  }

  marked(mark: string): Identity | undefined {
    const claims = readMark(mark);
    return claims && Date.now() < claims.expiresAtMs ? identityWith(claims, mark, ['*']) : undefined;
  }

  follow(): Disposable {
    return { [Symbol.dispose]: () => {} }; // the keys stay as they are
  }
}

/** What stays of a signed token, as no file lists it. */
interface Claims {
  readonly name: string;
  readonly rights: readonly string[];
  readonly expiresAtMs: number;
}

function bearerOf(payload: JWTPayload, token: string): Identity | undefined {
  const { environments, sub, exp } = payload;
  const rights = claimedScopes(payload)?.filter((right) => typeof right === 'string');
  if (!rights || !Array.isArray(environments)) return undefined;
  const claims = { name: signedName(sub), rights, expiresAtMs: exp! * 1000 };
  const identity = identityWith(claims, markOf(claims), environments.map(String));
  // Those without a subject are told apart here, as limits hold for each.
  return sub === undefined ? { ...identity, name: `jwt-${shortHash(token)}` } : identity;
}

const identityWith = (claims: Claims, mark: string, environments: readonly string[]): Identity =>
  identityOf({ ...claims, mark, environments, grant: harnessGrant({ ...claims, limits: {} }) });

/** The mark stands in what this service signs, so the claims in it need no further proof. */
const markOf = ({ name, rights, expiresAtMs }: Claims): string =>
  `jwt.${Buffer.from(JSON.stringify([name, rights, expiresAtMs])).toString('base64url')}`;

function readMark(mark: string): Claims | undefined {
  if (!mark.startsWith('jwt.')) return undefined;
  const [name, rights, expiresAtMs] = JSON.parse(Buffer.from(mark.slice(4), 'base64url').toString()) as [
    string,
    string[],
    number,
  ];
  return { name, rights, expiresAtMs };
}
