import { type Grant, signedGrant, unnamedGrant } from '../access/index.ts';
import { bearerToken } from '../base/index.ts';
import { ownCredential, ownCredentialDigest } from '../host/own/index.ts';

/** How a client authenticates with the upgrade request. */
export type WebSocketAuth =
  | { readonly type: 'none' }
  | { readonly type: 'capability-token'; readonly sha256: Buffer }
  | {
      readonly type: 'signed-bearer-token';
      readonly secret: Uint8Array;
      readonly issuer?: string;
      readonly audience?: string;
      readonly maxClockSkewSeconds: number;
    };

/** What a client has proved with its upgrade request; the token itself is not kept. */
export type Credential =
  | { readonly type: 'none' }
  | { readonly type: 'capability-token'; readonly sha256: Buffer }
  | { readonly type: 'signed-bearer-token'; readonly secret: Uint8Array; readonly grant: Grant };

export interface Refusal {
  readonly type: 'refused';
  readonly reason: string;
}

/** Keeps commands from inheriting the secret that clients are checked against. */
export function registerSecret(auth: WebSocketAuth): void {
  if (auth.type === 'capability-token') ownCredentialDigest(auth.sha256);
  if (auth.type === 'signed-bearer-token') ownCredential(new TextDecoder().decode(auth.secret));
}

/** Loads `node:crypto` only when a token has to be checked: loading it takes a tenth of the time to start. */
const crypto = (): typeof import('node:crypto') => process.getBuiltinModule('node:crypto');

/** The credential in the header of a request, or the reason to refuse it. */
export async function authenticate(
  auth: WebSocketAuth,
  authorization: string | undefined,
): Promise<Credential | Refusal> {
  if (auth.type === 'none') return auth;
  if (authorization === undefined) return refused('missing websocket bearer token');
  const token = bearerToken(authorization);
  if (!token) return refused('invalid authorization header');
  if (auth.type === 'signed-bearer-token') return verifyJwt(auth, token);
  const digest = sha256(token);
  return crypto().timingSafeEqual(digest, auth.sha256)
    ? { type: 'capability-token', sha256: digest }
    : refused('invalid websocket bearer token');
}

/** What a credential is good for where clients authenticate like this; undefined if it is not accepted (any more). */
export function grantFor(auth: WebSocketAuth, credential: Credential): Grant | undefined {
  switch (credential.type) {
    case 'none':
      return auth.type === 'none' ? unnamedGrant : undefined;
    case 'capability-token':
      return auth.type === 'capability-token' && auth.sha256.equals(credential.sha256) ? unnamedGrant : undefined;
    case 'signed-bearer-token':
      return auth.type === 'signed-bearer-token' && Buffer.from(auth.secret).equals(credential.secret)
        ? credential.grant
        : undefined;
  }
}

export function sha256(text: string): Buffer {
  return crypto().createHash('sha256').update(text).digest();
}

const refused = (reason: string): Refusal => ({ type: 'refused', reason });

async function verifyJwt(
  auth: WebSocketAuth & { type: 'signed-bearer-token' },
  token: string,
): Promise<Credential | Refusal> {
  const claims = await verifiedClaims(auth.secret, token);
  const { exp, nbf } = claims ?? {};
  if (!claims || !isWholeNumber(exp)) return refused('invalid websocket jwt');
  if (nbf !== undefined && !isWholeNumber(nbf)) return refused('invalid websocket jwt');
  const now = Math.floor(Date.now() / 1000);
  const skew = auth.maxClockSkewSeconds;
  if (now > exp + skew) return refused('expired websocket jwt');
  if (nbf !== undefined && now < nbf - skew) return refused('websocket jwt is not valid yet');
  if (auth.issuer !== undefined && claims.iss !== auth.issuer) return refused('websocket jwt issuer mismatch');
  if (auth.audience !== undefined && ![claims.aud].flat().includes(auth.audience)) {
    return refused('websocket jwt audience mismatch');
  }
  const grant = signedGrant(claims, (exp + skew) * 1000);
  return { type: 'signed-bearer-token', secret: auth.secret, grant };
}

const isWholeNumber = (value: unknown): value is number => Number.isSafeInteger(value);

async function verifiedClaims(secret: Uint8Array, token: string): Promise<Record<string, unknown> | undefined> {
  const { compactVerify } = await import('jose'); // needed for signed tokens alone
  try {
    const { payload } = await compactVerify(token, secret, { algorithms: ['HS256'] });
    const claims: unknown = JSON.parse(new TextDecoder().decode(payload));
    return typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>) : undefined;
  } catch {
    return undefined; // the client is told only that the token is invalid
  }
}
