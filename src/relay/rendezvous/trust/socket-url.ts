import type { SignedStatement, SigningKeys } from './signing-keys.ts';

/** One end of an environment's streams, which the holder of a signed URL may connect to. */
export type SocketGrant = EnvironmentGrant | HarnessSocketGrant;

interface EnvironmentGrant {
  readonly role: 'environment';
  readonly environmentId: string;
  readonly registrationId: string;
  /** The mark of the token that the URL was given for. Absent in URLs of earlier versions of this service. */
  readonly token?: string;
}

interface HarnessSocketGrant extends Omit<EnvironmentGrant, 'role'> {
  readonly role: 'harness';
  /** Names the connection. The URL is valid for one. */
  readonly connectionId: string;
  /** Fingerprint of the harness's key. */
  readonly key: string;
}

const PATH = /^\/ws\/v1\/([A-Za-z0-9_-]{1,64})$/;

export function signSocketUrl(base: string, grant: SocketGrant, expiresAt: number, keys: SigningKeys): string {
  const exp = String(Math.ceil(expiresAt / 1000));
  const query = new URLSearchParams({ role: grant.role, reg: grant.registrationId });
  if (grant.role === 'harness') {
    query.set('conn', grant.connectionId);
    query.set('key', grant.key);
  }
  if (grant.token !== undefined) query.set('tok', grant.token);
  query.set('exp', exp);
  query.set('kid', keys.kid);
  query.set('sig', keys.sign(statement(grant, exp)));
  return `${base.replace(/^http/, 'ws')}/ws/v1/${grant.environmentId}?${query}`;
}

/** The grant in the URL of an upgrade request. Undefined if it was not signed by this service, was changed or has expired. */
export function readSocketUrl(url: URL, keys: SigningKeys, now: number): SocketGrant | undefined {
  const environmentId = PATH.exec(url.pathname)?.[1];
  const {
    role,
    reg: registrationId,
    conn: connectionId,
    key,
    tok,
    exp,
    kid,
    sig,
  } = Object.fromEntries(url.searchParams);
  if (!environmentId || !registrationId || !exp || !kid || !sig) return undefined;
  const common = { environmentId, registrationId, ...(tok !== undefined && { token: tok }) };
  const grant: SocketGrant | undefined =
    role === 'environment'
      ? { role, ...common }
      : role === 'harness' && connectionId && key
        ? { role, ...common, connectionId, key }
        : undefined;
  if (!grant || !keys.verify(statement(grant, exp), kid, sig)) return undefined;
  return now < Number(exp) * 1000 ? grant : undefined;
}

/** The role in the URL of a socket, unverified. Undefined if no socket is opened at this path. */
export function claimedRole(url: URL): string | undefined {
  return PATH.test(url.pathname) ? (url.searchParams.get('role') ?? '') : undefined;
}

function statement(grant: SocketGrant, exp: string): SignedStatement {
  const { role, environmentId, registrationId } = grant;
  const own = grant.role === 'harness' ? [grant.connectionId, grant.key] : [];
  const token = grant.token === undefined ? [] : ['token', grant.token];
  return ['socket', role, environmentId, registrationId, ...own, ...token, exp];
}
