import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { goldenFile, type StaticSecrets, seedOf, toHex } from '../../../test/relay/vectors.ts';
import {
  generateRelayKeys,
  keyFingerprint,
  type PublicKeyObject,
  parsePublicKeyObject,
  publicKeyObject,
} from './keys.ts';

const { harness_public_key: real } = goldenFile<{ harness_public_key: PublicKeyObject }>('real-harness-session');
const { initiator_static: known } = goldenFile<{
  initiator_static: StaticSecrets & { x25519_public: string; mlkem768_public: string };
}>('noise-fixed-keys');

describe('a key object', () => {
  it('follows from its secrets', () => {
    const keys = generateRelayKeys(seedOf(known));

    expect(toHex(keys.x25519Public)).toBe(known.x25519_public);
    expect(toHex(keys.mlkemPublic)).toBe(known.mlkem768_public);
  });

  it('is another one each time', () => {
    expect(publicKeyObject(generateRelayKeys())).not.toEqual(publicKeyObject(generateRelayKeys()));
  });

  it('of the reference, and our own, is accepted as it is', () => {
    const own = publicKeyObject(generateRelayKeys());

    expect([parsePublicKeyObject(real), parsePublicKeyObject(own)]).toEqual([real, own]);
  });

  it.each([
    ['is a text', 'key', 'key is not an object'],
    ['is null', null, 'key is not an object'],
    ['is a list', [], 'key is not an object'],
    ['has a member too many', { ...real, extra: 1 }, 'key has an unknown member "extra"'],
    ['is of another suite', { ...real, suite: 'Noise_IK' }, 'key suite is not'],
    ['lacks a key', { ...real, x25519_public_key: undefined }, 'x25519_public_key is not a string'],
    ['is not base64', { ...real, x25519_public_key: '*' }, 'x25519_public_key is not base64'],
    ['is too short', { ...real, x25519_public_key: 'AAAA' }, 'x25519_public_key has 3 bytes instead of 32'],
    [
      'is too long',
      { ...real, mlkem768_public_key: `${real.mlkem768_public_key.slice(0, -4)}AAAAAAAA` },
      'mlkem768_public_key has',
    ],
  ])('that %s is refused', (_, json, reason) => {
    expect(() => parsePublicKeyObject(json)).toThrow(reason);
  });

  it('has a fingerprint that does not depend on the order of its members', () => {
    const { suite, ...rest } = real;
    const text = `{"suite":"${suite}","x25519_public_key":"${real.x25519_public_key}","mlkem768_public_key":"${real.mlkem768_public_key}"}`;

    expect(keyFingerprint({ ...rest, suite })).toBe(createHash('sha256').update(text).digest('hex'));
  });
});
