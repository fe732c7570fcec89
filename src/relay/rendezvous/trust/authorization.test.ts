import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readAuthorization, signAuthorization } from './authorization.ts';
import { SigningKeys } from './signing-keys.ts';
import { readSocketUrl, type SocketGrant, signSocketUrl } from './socket-url.ts';

const hex = (length: number) =>
  fc
    .array(fc.integer({ min: 0, max: 15 }), { minLength: length, maxLength: length })
    .map((digits) => digits.map((digit) => digit.toString(16)).join(''));
const environmentId = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);
const mark = fc.option(hex(8), { nil: undefined });
const keys = SigningKeys.random();

describe('an authorization', () => {
  it('holds what was signed until it expires, in less than 400 bytes', () => {
    fc.assert(
      fc.property(hex(32), environmentId, hex(32), hex(64), fc.integer({ min: 1, max: 4e9 }), mark, (...facts) => {
        const [id, environment, registrationId, key, seconds, sixth] = facts;
        const authorization = {
          id,
          environmentId: environment,
          registrationId,
          key,
          expiresAt: seconds * 1000,
          mark: sixth,
        };
        const token = signAuthorization(authorization, keys);

        expect(readAuthorization(token, keys, seconds * 1000 - 1)).toEqual(authorization);
        expect(readAuthorization(token, keys, seconds * 1000)).toBeUndefined();
        expect(token.length).toBeLessThan(400);
      }),
    );
  });

  it('is refused when any character of it has changed', () => {
    const authorization = { id: 'i', environmentId: 'e', registrationId: 'r', key: 'ab'.repeat(32), expiresAt: 1000 };
    const token = signAuthorization(authorization, keys);
    for (let at = 0; at < token.length; at++) {
      const other = token[at] === 'A' ? 'B' : 'A';
      expect(readAuthorization(token.slice(0, at) + other + token.slice(at + 1), keys, 0)).toBeUndefined();
    }
    for (const wrong of ['', '.', '..', `${token}.`, token.slice(1)]) {
      expect(readAuthorization(wrong, keys, 0)).toBeUndefined();
    }
  });
});

describe('a socket URL', () => {
  it('grants what was signed, until it expires', () => {
    const grant: fc.Arbitrary<SocketGrant> = fc.oneof(
      fc.record(
        { role: fc.constant('environment' as const), environmentId, registrationId: hex(32), token: hex(8) },
        { requiredKeys: ['role', 'environmentId', 'registrationId'] },
      ),
      fc.record({
        token: hex(8),
        role: fc.constant('harness' as const),
        environmentId,
        registrationId: hex(32),
        connectionId: hex(32),
        key: hex(64),
      }),
    );
    fc.assert(
      fc.property(grant, fc.integer({ min: 1, max: 4e9 }), (granted, seconds) => {
        const url = new URL(signSocketUrl('https://relay.example', granted, seconds * 1000, keys));

        expect(url.protocol).toBe('wss:');
        expect(readSocketUrl(url, keys, seconds * 1000 - 1)).toEqual(granted);
        expect(readSocketUrl(url, keys, seconds * 1000)).toBeUndefined();
      }),
    );
  });

  it('tells the token that it was given for, which cannot be changed', () => {
    const grant = { role: 'environment', environmentId: 'e', registrationId: 'r', token: '01234567' } as const;
    const url = new URL(signSocketUrl('http://h', grant, 1000, keys));
    expect(readSocketUrl(url, keys, 0)?.token).toBe('01234567');

    url.searchParams.set('tok', '01234568');
    expect(readSocketUrl(url, keys, 0)).toBeUndefined();
    url.searchParams.delete('tok');
    expect(readSocketUrl(url, keys, 0)).toBeUndefined();
  });

  it('of an environment cannot be used by a harness', () => {
    const grant = { role: 'environment', environmentId: 'e', registrationId: 'r' } as const;
    const url = new URL(signSocketUrl('http://h', grant, 1000, keys));
    url.searchParams.set('role', 'harness');
    url.searchParams.set('conn', 'c');
    url.searchParams.set('key', 'k');

    expect(readSocketUrl(url, keys, 0)).toBeUndefined();
  });
});
