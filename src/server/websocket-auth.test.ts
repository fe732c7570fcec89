import { createHash, randomBytes } from 'node:crypto';
import { SignJWT, UnsecuredJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { AccessTokens, type Grant, parseTokens, unnamedGrant } from '../access/index.ts';
import { authenticate, sha256, type WebSocketAuth } from './websocket-auth.ts';

const capability: WebSocketAuth = {
  type: 'capability-token',
  sha256: createHash('sha256').update('golden-capability-token').digest(),
};

/** Why a request with this header is refused; undefined if it is not. */
async function refusalOf(auth: WebSocketAuth, authorization: string | undefined): Promise<string | undefined> {
  const answer = await authenticate({ auth }, authorization);
  return answer.type === 'refused' ? answer.reason : undefined;
}

/** What a request with this header may do. */
async function grantOf(auth: WebSocketAuth, authorization: string | undefined): Promise<Grant | undefined> {
  const answer = await authenticate({ auth }, authorization);
  return answer.type === 'refused' ? undefined : answer.granted();
}

describe('a server without authentication', () => {
  it('accepts every request', async () => {
    expect([await refusalOf({ type: 'none' }, undefined), await refusalOf({ type: 'none' }, 'Basic x')]).toEqual([
      undefined,
      undefined,
    ]);
  });
});

describe('a capability token', () => {
  it.each([
    ['Bearer golden-capability-token', undefined],
    ['bearer   golden-capability-token ', undefined],
    ['BEARER\tgolden-capability-token', undefined],
    [undefined, 'missing websocket bearer token'],
    ['', 'invalid authorization header'],
    ['Bearer', 'invalid authorization header'],
    ['Bearer ', 'invalid authorization header'],
    ['Basic golden-capability-token', 'invalid authorization header'],
    ['golden-capability-token', 'invalid authorization header'],
    ['Bearergolden-capability-token', 'invalid authorization header'],
    ['Bearer other', 'invalid websocket bearer token'],
    ['Bearer golden-capability-token x', 'invalid websocket bearer token'],
    ['Bearer GOLDEN-CAPABILITY-TOKEN', 'invalid websocket bearer token'],
  ])('presented as %j gives %j', async (header, answer) => {
    expect(await refusalOf(capability, header)).toBe(answer);
  });

  it('is found in time linear in the length of the header', async () => {
    const header = `Bearer a${' '.repeat(200_000)}b`;

    expect(await refusalOf(capability, header)).toBe('invalid websocket bearer token');
  });

  it('is good for everything but the work of others', async () => {
    expect(await grantOf(capability, 'Bearer golden-capability-token')).toEqual(unnamedGrant);
    expect([...unnamedGrant.scopes]).toEqual(['run', 'view', 'files', 'forward', 'approve']);
  });

  it('is kept as its digest', () => {
    expect(sha256('abc').toString('hex')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});

describe('a token of a file', () => {
  const entry = (name: string, scopes: readonly string[], more: object = {}) => ({
    ...{ name, sha256: sha256(name).toString('hex'), scopes },
    ...more,
  });
  const tokens = new AccessTokens(
    parseTokens(
      JSON.stringify({
        tokens: [
          entry('viewer', ['view', 'files'], { limits: { sessions: 2 } }),
          entry('nothing', []),
          entry('executor', ['executor'], { environments: ['*'] }),
          entry('late', ['run'], { expires: '2001-01-01T00:00:00Z' }),
        ],
      }),
    ),
  );
  const present = (token: string, auth: WebSocketAuth = { type: 'none' }) =>
    authenticate({ auth, tokens }, `Bearer ${token}`);

  it('grants its scopes and limits, until it is removed', async () => {
    const answer = await present('viewer');
    const { granted } = answer as Extract<typeof answer, { type: 'admitted' }>;

    expect(granted()).toMatchObject({
      tokenName: 'viewer',
      scopes: new Set(['view', 'files']),
      limits: { sessions: 2 },
    });
    tokens.replace(['nothing', 'executor', 'late'].map((name) => tokens.find(sha256(name).toString('hex'))!));
    expect(granted()).toBeUndefined();
    expect(await present('viewer')).toEqual({ type: 'refused', reason: 'invalid websocket bearer token' });
  });

  it.each([
    ['executor', { reason: 'this token is for a rendezvous', tokenName: 'executor' }],
    ['late', { reason: 'expired websocket bearer token', tokenName: 'late' }],
    ['forged', { reason: 'invalid websocket bearer token' }],
  ])('that is no good here is refused: %s', async (token, refusal) => {
    expect(await present(token)).toEqual({ type: 'refused', ...refusal });
  });

  it('without any scope may connect, as it may look at the server', async () => {
    expect(await present('nothing')).toMatchObject({ type: 'admitted', proof: 'token' });
  });

  it('is asked for although nothing else is, and accepted beside the token of a flag', async () => {
    expect(await authenticate({ auth: { type: 'none' }, tokens }, undefined)).toMatchObject({ type: 'refused' });
    expect(await present('nothing', capability)).toMatchObject({ type: 'admitted' });
    expect(await present('golden-capability-token', capability)).toMatchObject({ type: 'admitted' });
    expect(await present('forged', capability)).toMatchObject({ type: 'refused' });
  });
});

describe('a signed token', () => {
  const secret = randomBytes(32);
  const signed: WebSocketAuth = {
    type: 'signed-bearer-token',
    secret,
    issuer: 'iss-1',
    audience: 'aud-1',
    maxClockSkewSeconds: 30,
  };
  const now = () => Math.floor(Date.now() / 1000);
  const valid = () => ({ exp: now() + 60, iss: 'iss-1', aud: 'aud-1' });
  const sign = (claims: Record<string, unknown>, alg = 'HS256', key: Uint8Array = secret) =>
    new SignJWT(claims).setProtectedHeader({ alg }).sign(key);
  const answerTo = async (token: string | Promise<string>, auth = signed) => refusalOf(auth, `Bearer ${await token}`);

  it.each<[string, () => Record<string, unknown>, string | undefined]>([
    ['that is in order', valid, undefined],
    ['for several audiences', () => ({ ...valid(), aud: ['other', 'aud-1'] }), undefined],
    ['without expiry', () => ({ ...valid(), exp: undefined }), 'invalid websocket jwt'],
    ['with an expiry that is text', () => ({ ...valid(), exp: String(now() + 60) }), 'invalid websocket jwt'],
    ['with an expiry that is a fraction', () => ({ ...valid(), exp: now() + 60.5 }), 'invalid websocket jwt'],
    ['with an expiry beyond 64 bits', () => ({ ...valid(), exp: 1e300 }), 'invalid websocket jwt'],
    ['expired within the skew', () => ({ ...valid(), exp: now() - 20 }), undefined],
    ['expired before the skew', () => ({ ...valid(), exp: now() - 40 }), 'expired websocket jwt'],
    ['valid from within the skew', () => ({ ...valid(), nbf: now() + 20 }), undefined],
    ['valid from after the skew', () => ({ ...valid(), nbf: now() + 60 }), 'websocket jwt is not valid yet'],
    ['valid from a text', () => ({ ...valid(), nbf: 'now' }), 'invalid websocket jwt'],
    ['of another issuer', () => ({ ...valid(), iss: 'other' }), 'websocket jwt issuer mismatch'],
    ['of no issuer', () => ({ ...valid(), iss: undefined }), 'websocket jwt issuer mismatch'],
    ['for another audience', () => ({ ...valid(), aud: 'other' }), 'websocket jwt audience mismatch'],
    ['for no audience', () => ({ ...valid(), aud: undefined }), 'websocket jwt audience mismatch'],
    ['for none of the audiences', () => ({ ...valid(), aud: [] }), 'websocket jwt audience mismatch'],
    ['both expired and of another issuer', () => ({ ...valid(), exp: 1, iss: 'other' }), 'expired websocket jwt'],
  ])('%s', async (_, claims, answer) => {
    expect(await answerTo(sign(claims()))).toBe(answer);
  });

  it.each<[string, Record<string, unknown>, string, readonly string[]]>([
    ['without a claim of scopes', {}, 'jwt:', [...unnamedGrant.scopes]],
    ['with a list of scopes', { sub: 'ci', scopes: ['view', 'admin', 'unknown', 7] }, 'jwt:ci', ['view', 'admin']],
    ['with scopes as text', { sub: 'ci', scope: 'openid run files' }, 'jwt:ci', ['run', 'files']],
    ['with both', { scopes: ['view'], scope: 'run' }, 'jwt:', ['view']],
    ['with an empty list', { scopes: [] }, 'jwt:', []],
    ['with an empty text', { scope: '' }, 'jwt:', []],
    ['with scopes of another type', { scopes: 'run', scope: 'run' }, 'jwt:', []],
    ['with a subject of another type', { sub: 7 }, 'jwt:', [...unnamedGrant.scopes]],
  ])('%s grants what it says, until it expires', async (_, claims, tokenName, granted) => {
    const { exp, ...rest } = valid();
    const grant = await grantOf(signed, `Bearer ${await sign({ ...rest, exp, ...claims })}`);

    expect(grant).toEqual({ tokenName, scopes: new Set(granted), limits: {}, expiresAtMs: (exp + 30) * 1000 });
  });

  it('with another key or algorithm is invalid', async () => {
    const tokens = [
      sign(valid(), 'HS256', randomBytes(32)),
      sign(valid(), 'HS512', randomBytes(64)),
      new UnsecuredJWT(valid()).encode(),
      'not-a-jwt',
      'a.b.c',
    ];

    expect(await Promise.all(tokens.map((token) => answerTo(token)))).toEqual(Array(5).fill('invalid websocket jwt'));
  });

  it('with the right key under another algorithm is invalid', async () => {
    const long = randomBytes(64);

    expect(await answerTo(sign(valid(), 'HS512', long), { ...signed, secret: long })).toBe('invalid websocket jwt');
  });

  it('needs issuer and audience only where the server names them', async () => {
    const { issuer: _, audience: __, ...open } = signed as Extract<WebSocketAuth, { type: 'signed-bearer-token' }>;

    expect(await answerTo(sign({ exp: now() + 60 }), open)).toBeUndefined();
  });

  it('comes in the same header as a capability token', async () => {
    expect([await refusalOf(signed, undefined), await refusalOf(signed, 'Basic x')]).toEqual([
      'missing websocket bearer token',
      'invalid authorization header',
    ]);
  });
});
