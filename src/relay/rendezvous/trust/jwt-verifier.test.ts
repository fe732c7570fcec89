import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { freshTokens } from './file-tokens.ts';
import { anyOf } from './identity.ts';
import { JwtVerifier } from './jwt-verifier.ts';

let keys: { keys: object[] };
let privateKey: Parameters<SignJWT['sign']>[0];
beforeAll(async () => {
  const pair = await generateKeyPair('ES256', { extractable: true });
  privateKey = pair.privateKey;
  keys = { keys: [{ ...(await exportJWK(pair.publicKey)), kid: 'k1', alg: 'ES256' }] };
});

const claims: JWTPayload = { scope: 'executor admin', environments: ['ci-*'], iss: 'us', aud: 'relay' };
const sign = (payload: JWTPayload, expires: string | undefined = '1h', key = privateKey): Promise<string> => {
  const token = new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid: 'k1' });
  return (expires ? token.setExpirationTime(expires) : token).sign(key);
};

describe('a signed token', () => {
  it('is good for what it claims', async () => {
    const identity = await new JwtVerifier({ keys, issuer: 'us', audience: 'relay' }).identify(await sign(claims));

    expect(identity?.name).toMatch(/^jwt-[0-9a-f]{8}$/);
    expect(identity?.mayAct('executor', 'ci-1')).toBe(true);
    expect(identity?.mayAct('executor', 'other')).toBe(false);
    expect(identity?.mayAct('harness', 'ci-1')).toBe(false);
  });

  it('is refused when it has expired, never expires, or has another issuer or audience', async () => {
    const verifier = new JwtVerifier({ keys, issuer: 'us', audience: 'relay' });
    const { privateKey: stranger } = await generateKeyPair('ES256');
    const { scope: _, ...noScope } = claims;
    const tokens = [
      await sign(claims, '-1s'),
      await new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'k1' }).sign(privateKey),
      await sign(claims, '1h', stranger),
      await sign({ ...claims, iss: 'them' }),
      await sign({ ...claims, aud: 'them' }),
      await sign(noScope),
      await sign({ ...claims, environments: 'ci-*' }),
      'nonsense',
    ];

    expect(await Promise.all(tokens.map((token) => verifier.identify(token)))).toEqual(tokens.map(() => undefined));
  });

  it('with a subject has its name; by its mark it is known until it expires', async () => {
    const verifier = new JwtVerifier({ keys });
    const { name, mark, grant } = (await verifier.identify(
      await sign({ ...claims, sub: 'ci', scopes: ['harness', 'view'] }),
    ))!;

    expect([name, grant.tokenName, [...grant.scopes]]).toEqual(['jwt:ci', 'jwt:ci', ['view']]);
    expect(verifier.marked(mark)).toMatchObject({ name: 'jwt:ci', mark, grant });
    expect(verifier.marked(mark)?.mayAct('harness', 'any')).toBe(true);
    expect(verifier.marked(mark)?.mayAct('executor', 'any')).toBe(false);
    vi.useFakeTimers({ now: Date.now() + 3_600_000 });
    expect(verifier.marked(mark)).toBeUndefined();
    vi.useRealTimers();
    expect(verifier.marked('01234567')).toBeUndefined();
  });

  it('is accepted beside other tokens', async () => {
    const { shown, verifier } = freshTokens();
    const either = anyOf([verifier, new JwtVerifier({ keys })]);

    expect((await either.identify(shown.admin))?.holds('admin')).toBe(true);
    expect((await either.identify(await sign(claims)))?.holds('executor')).toBe(true);
    expect(await either.identify('nonsense')).toBeUndefined();
  });
});
