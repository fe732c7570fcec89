import { readFileSync } from 'node:fs';
import type { KeySeed } from '../../src/relay/stream/keys.ts';

/** Secrets, messages and records of a handshake whose outcome is known. */
export interface HandshakeVector {
  readonly message1_hex: string;
  readonly message2_hex: string;
  readonly handshake_hash_hex: string;
  readonly records: readonly {
    readonly direction: 'initiator->responder' | 'responder->initiator';
    readonly plaintext_hex: string;
    readonly ciphertext_hex: string;
  }[];
  readonly frames?: readonly { readonly hex: string }[];
}

export interface StaticSecrets {
  readonly x25519_secret: string;
  readonly mlkem768_seed: string;
}

export interface EphemeralSecrets extends StaticSecrets {
  readonly skem_coins: string;
  readonly ekem_coins?: string;
}

export function goldenFile<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`golden/${name}.json`, import.meta.url), 'utf8')) as T;
}

export const fromHex = (hex: string): Buffer => Buffer.from(hex, 'hex');
export const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

export const seedOf = ({ x25519_secret, mlkem768_seed }: StaticSecrets): KeySeed => ({
  x25519: fromHex(x25519_secret),
  mlkem: fromHex(mlkem768_seed),
});
