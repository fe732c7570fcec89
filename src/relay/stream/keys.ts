import { createHash, createPrivateKey, createPublicKey, type KeyObject, randomBytes } from 'node:crypto';
import { ml_kem768 } from '@noble/post-quantum/ml-kem.js';
import { decodeBase64, encodeBase64 } from '../../base/index.ts';
import { RelayError } from '../wire/relay-error.ts';

/** A key pair of each kind. Private: never stored, never logged. */
export interface RelayKeys {
  readonly x25519: KeyObject;
  readonly x25519Public: Uint8Array;
  readonly mlkemSecret: Uint8Array;
  readonly mlkemPublic: Uint8Array;
}

/** The public half as the registry knows it, member for member. */
export interface PublicKeyObject {
  readonly suite: typeof SUITE;
  readonly x25519_public_key: string;
  readonly mlkem768_public_key: string;
}

export const SUITE = 'Noise_hybridIK_X25519+MLKEM768_AESGCM_SHA256';
export const X25519_BYTES = 32;
export const MLKEM_PUBLIC_BYTES = 1184;

/** The secrets that a key pair is made from: random ones, except in tests. */
export interface KeySeed {
  readonly x25519: Uint8Array;
  /** `d` and `z` of FIPS 203. */
  readonly mlkem: Uint8Array;
}

export const randomSeed = (): KeySeed => ({ x25519: randomBytes(32), mlkem: randomBytes(64) });

export function generateRelayKeys(seed: KeySeed = randomSeed()): RelayKeys {
  const x25519 = createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed.x25519]), format: 'der', type: 'pkcs8' });
  const x25519Public = createPublicKey(x25519).export({ format: 'der', type: 'spki' }).subarray(SPKI_HEAD.length);
  const { publicKey, secretKey } = ml_kem768.keygen(seed.mlkem);
  return { x25519, x25519Public, mlkemSecret: secretKey, mlkemPublic: publicKey };
}

export function publicKeyObject(keys: Pick<RelayKeys, 'x25519Public' | 'mlkemPublic'>): PublicKeyObject {
  return {
    suite: SUITE,
    x25519_public_key: encodeBase64(keys.x25519Public),
    mlkem768_public_key: encodeBase64(keys.mlkemPublic),
  };
}

/** Checks a key object from a peer or a registry; throws a `RelayError` that names the wrong member. */
export function parsePublicKeyObject(json: unknown): PublicKeyObject {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw new RelayError('key is not an object');
  const { suite, x25519_public_key, mlkem768_public_key, ...rest } = json as Record<string, unknown>;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) throw new RelayError(`key has an unknown member ${JSON.stringify(unknown)}`);
  if (suite !== SUITE) throw new RelayError(`key suite is not ${SUITE}`);
  return {
    suite,
    x25519_public_key: requireKey('x25519_public_key', x25519_public_key, X25519_BYTES),
    mlkem768_public_key: requireKey('mlkem768_public_key', mlkem768_public_key, MLKEM_PUBLIC_BYTES),
  };
}

function requireKey(name: string, value: unknown, length: number): string {
  if (typeof value !== 'string') throw new RelayError(`${name} is not a string`);
  let decoded: Uint8Array;
  try {
    decoded = decodeBase64(value);
  } catch (error) {
    throw new RelayError(`${name} is not base64: ${(error as Error).message}`);
  }
  if (decoded.length !== length) throw new RelayError(`${name} has ${decoded.length} bytes instead of ${length}`);
  return value;
}

/** The raw keys of an object that was checked. */
export function rawPublicKeys(key: PublicKeyObject): { readonly x25519: Uint8Array; readonly mlkem: Uint8Array } {
  return { x25519: decodeBase64(key.x25519_public_key), mlkem: decodeBase64(key.mlkem768_public_key) };
}

/** SHA-256, in hex, of the object with its members in their fixed order. */
export function keyFingerprint(key: PublicKeyObject): string {
  const { suite, x25519_public_key, mlkem768_public_key } = key;
  const canonical = JSON.stringify({ suite, x25519_public_key, mlkem768_public_key });
  return createHash('sha256').update(canonical).digest('hex');
}

export function x25519PublicKey(raw: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.concat([SPKI_HEAD, raw]), format: 'der', type: 'spki' });
}

/** Node takes and gives raw keys only inside these DER envelopes. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b656e04220420', 'hex');
const SPKI_HEAD = Buffer.from('302a300506032b656e032100', 'hex');
