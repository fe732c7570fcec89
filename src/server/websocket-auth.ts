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

/** Keeps commands from inheriting the secret that clients are checked against. */
export function registerSecret(auth: WebSocketAuth): void {
  if (auth.type === 'capability-token') ownCredentialDigest(auth.sha256);
  if (auth.type === 'signed-bearer-token') ownCredential(new TextDecoder().decode(auth.secret));
}

/** Loads `node:crypto` only when a token has to be checked: loading it takes a tenth of the time to start. */
const crypto = (): typeof import('node:crypto') => process.getBuiltinModule('node:crypto');

/** The reason to refuse a request, or undefined. */
export async function authRefusal(auth: WebSocketAuth, authorization: string | undefined): Promise<string | undefined> {
  if (auth.type === 'none') return undefined;
  if (authorization === undefined) return 'missing websocket bearer token';
  const token = bearerToken(authorization);
  if (!token) return 'invalid authorization header';
  if (auth.type === 'signed-bearer-token') return jwtRefusal(auth, token);
  return crypto().timingSafeEqual(sha256(token), auth.sha256) ? undefined : 'invalid websocket bearer token';
}

export function sha256(text: string): Buffer {
  return crypto().createHash('sha256').update(text).digest();
}

async function jwtRefusal(
  auth: WebSocketAuth & { type: 'signed-bearer-token' },
  token: string,
): Promise<string | undefined> {
  const claims = await verifiedClaims(auth.secret, token);
  if (!claims || !Number.isSafeInteger(claims.exp)) return 'invalid websocket jwt';
  if (claims.nbf !== undefined && !Number.isSafeInteger(claims.nbf)) return 'invalid websocket jwt';
  const now = Math.floor(Date.now() / 1000);
  const skew = auth.maxClockSkewSeconds;
  if (now > (claims.exp as number) + skew) return 'expired websocket jwt';
  if (claims.nbf !== undefined && now < (claims.nbf as number) - skew) return 'websocket jwt is not valid yet';
  if (auth.issuer !== undefined && claims.iss !== auth.issuer) return 'websocket jwt issuer mismatch';
  if (auth.audience !== undefined && ![claims.aud].flat().includes(auth.audience)) {
    return 'websocket jwt audience mismatch';
  }
  return undefined;
}

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
