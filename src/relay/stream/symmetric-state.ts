import { createCipheriv, createDecipheriv, createHash, createHmac } from 'node:crypto';
import { RelayError } from '../wire/relay-error.ts';
import { nonce, TAG_BYTES } from './record-cipher.ts';

const sha256 = (...parts: readonly Uint8Array[]): Buffer => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

const hmac = (key: Uint8Array, ...parts: readonly Uint8Array[]): Buffer => {
  const mac = createHmac('sha256', key);
  for (const part of parts) mac.update(part);
  return mac.digest();
};

/** The symmetric state of the Noise specification: the transcript so far and the keys that follow from it. */
export class SymmetricState {
  #hash: Buffer;
  #chain: Buffer;
  #key: Buffer | undefined;
  #counter = 0;

  /** The name must be longer than a hash, as that of this protocol is: then it starts out hashed. */
  constructor(protocolName: string) {
    this.#hash = sha256(Buffer.from(protocolName));
    this.#chain = this.#hash;
  }

  /** Identifies the handshake: both sides have the same at its end, and no third party can. */
  get hash(): Uint8Array {
    return this.#hash;
  }

  mixHash(data: Uint8Array): void {
    this.#hash = sha256(this.#hash, data);
  }

  mixKey(secret: Uint8Array): void {
    const [chain, key] = this.#expand(secret);
    this.#chain = chain;
    this.#useKey(key);
  }

  mixKeyAndHash(secret: Uint8Array): void {
    const [chain, data, key] = this.#expand(secret);
    this.#chain = chain;
    this.mixHash(data);
    this.#useKey(key);
  }

  /** Leaves the text clear while there is no key yet. */
  encryptAndHash(plaintext: Uint8Array): Uint8Array {
    if (!this.#key) {
      this.mixHash(plaintext);
      return plaintext;
    }
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce(this.#counter++));
    cipher.setAAD(this.#hash);
    const sealed = Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
    this.mixHash(sealed);
    return sealed;
  }

  decryptAndHash(sealed: Uint8Array): Uint8Array {
    if (!this.#key) {
      this.mixHash(sealed);
      return sealed;
    }
    const end = sealed.length - TAG_BYTES;
    if (end < 0) throw new RelayError('handshake message is cut short');
    const decipher = createDecipheriv('aes-256-gcm', this.#key, nonce(this.#counter), { authTagLength: TAG_BYTES });
    decipher.setAAD(this.#hash);
    decipher.setAuthTag(sealed.subarray(end));
    const plaintext = decipher.update(sealed.subarray(0, end));
    try {
      decipher.final();
    } catch {
      throw new RelayError('handshake message is not authentic'); // OpenSSL gives no other reason
    }
    this.#counter++;
    this.mixHash(sealed);
    return plaintext;
  }

  /** The keys for records: first from initiator to responder, then the other way. */
  split(): [Uint8Array, Uint8Array] {
    const [first, second] = this.#expand(new Uint8Array(0));
    return [first, second];
  }

  #useKey(key: Buffer): void {
    this.#key = key;
    this.#counter = 0;
  }

  #expand(secret: Uint8Array): [Buffer, Buffer, Buffer] {
    const base = hmac(this.#chain, secret);
    const first = hmac(base, ONE);
    const second = hmac(base, first, TWO);
    return [first, second, hmac(base, second, THREE)];
  }
}

const ONE = Uint8Array.of(1);
const TWO = Uint8Array.of(2);
const THREE = Uint8Array.of(3);
