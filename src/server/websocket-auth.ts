import { type AccessTokens, type Grant, signedGrant, tokenDigest, unnamedGrant } from '../access/index.ts';
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

/** Who may connect. With `tokens` a client presents one of these, or else what `auth` asks for. */
export interface Admission {
  readonly auth: WebSocketAuth;
  readonly tokens?: AccessTokens | undefined;
}

export interface Admitted {
  readonly type: 'admitted';
  readonly proof: 'token' | 'none';
  /** What was proved is good for, now; undefined if it is not accepted any more. The token itself is not kept. */
  readonly granted: () => Grant | undefined;
}

export interface Refused {
  readonly type: 'refused';
  readonly reason: string;
  /** The token that was presented, if it is known. */
  readonly tokenName?: string | undefined;
}

/** Keeps commands from inheriting the secret that clients are checked against. */
export function registerSecret(auth: WebSocketAuth): void {
  if (auth.type === 'capability-token') ownCredentialDigest(auth.sha256);
  if (auth.type === 'signed-bearer-token') ownCredential(new TextDecoder().decode(auth.secret));
}

/** Loads `node:crypto` only when a token has to be checked: loading it takes a tenth of the time to start. */
const crypto = (): typeof import('node:crypto') => process.getBuiltinModule('node:crypto');

/** Examines the header of a request. */
export async function authenticate(
  { auth, tokens }: Admission,
  authorization: string | undefined,
): Promise<Admitted | Refused> {
  if (auth.type === 'none' && !tokens) return { type: 'admitted', proof: 'none', granted: () => unnamedGrant };
  if (authorization === undefined) return refused('missing websocket bearer token');
  const token = bearerToken(authorization);
  if (!token) return refused('invalid authorization header');
  return (tokens && findToken(tokens, token)) ?? (await examine(auth, token));
}

function findToken(tokens: AccessTokens, token: string): Admitted | Refused | undefined {
  const digest = tokenDigest(token);
  const { name: tokenName, expiresAtMs } = tokens.find(digest) ?? {};
  if (tokenName === undefined) return undefined;
  const granted = (): Grant | undefined => tokens.grantOf(digest);
  if (!granted()) return { ...refused('this token is for a rendezvous'), tokenName };
  if (expiresAtMs !== undefined && Date.now() >= expiresAtMs)
    return { ...refused('expired websocket bearer token'), tokenName };
  return { type: 'admitted', proof: 'token', granted };
}

/** Examines a token that is in no file. What is admitted here stays so when the flags' files are read again. */
async function examine(auth: WebSocketAuth, token: string): Promise<Admitted | Refused> {
  if (auth.type === 'signed-bearer-token') return verifyJwt(auth, token);
  if (auth.type === 'none' || !crypto().timingSafeEqual(sha256(token), auth.sha256)) {
    return refused('invalid websocket bearer token');
  }
  return { type: 'admitted', proof: 'token', granted: () => unnamedGrant };
}

export function sha256(text: string): Buffer {
  return crypto().createHash('sha256').update(text).digest();
}

const refused = (reason: string): Refused => ({ type: 'refused', reason });

async function verifyJwt(
  auth: WebSocketAuth & { type: 'signed-bearer-token' },
  token: string,
): Promise<Admitted | Refused> {
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
  return { type: 'admitted', proof: 'token', granted: () => grant };
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
