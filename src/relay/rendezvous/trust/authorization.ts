import type { SigningKeys } from './signing-keys.ts';

/** Allows the holder of a key to open one stream to one registration of an environment. */
export interface Authorization {
  readonly id: string;
  readonly environmentId: string;
  readonly registrationId: string;
  /** Fingerprint of the harness's key. */
  readonly key: string;
  readonly expiresAt: number;
  /** The mark of the harness's token. Absent in those of earlier versions of this service. */
  readonly mark?: string | undefined;
}

type Payload = [
  id: string,
  environmentId: string,
  registrationId: string,
  key: string,
  seconds: number,
  mark?: string | null | undefined,
];

/** A compact token of less than 400 bytes. */
export function signAuthorization(authorization: Authorization, keys: SigningKeys): string {
  const { id, environmentId, registrationId, key, expiresAt, mark } = authorization;
  const shortKey = Buffer.from(key, 'hex').toString('base64url');
  const payload: Payload = [id, environmentId, registrationId, shortKey, Math.ceil(expiresAt / 1000), mark];
  const body = Buffer.from(JSON.stringify(payload)).toString('base64url');
  return `${body}.${keys.kid}.${keys.sign(['authorization', body])}`;
}

/** The authorization in a token. Undefined if this service did not sign it, or if it has expired. */
export function readAuthorization(token: string, keys: SigningKeys, now: number): Authorization | undefined {
  const [body, kid, signature, ...rest] = token.split('.');
  if (!body || !kid || !signature || rest.length > 0) return undefined;
  if (!keys.verify(['authorization', body], kid, signature)) return undefined;
  const payload = JSON.parse(Buffer.from(body, 'base64url').toString()) as Payload;
  const [id, environmentId, registrationId, shortKey, seconds, mark] = payload;
  const key = Buffer.from(shortKey, 'base64url').toString('hex');
  const expiresAt = seconds * 1000;
  return now < expiresAt ? { id, environmentId, registrationId, key, expiresAt, mark: mark ?? undefined } : undefined;
}
