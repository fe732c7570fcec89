import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto';
import { RelayError } from '../wire/relay-error.ts';

export const TAG_BYTES = 16;

/** A sequence number is the nonce, so it must never be used twice. */
export const LAST_SEQ = 2 ** 32 - 1;

/** Encrypts the records of one direction, each under the next number. */
export class RecordSealer {
  readonly #key: KeyObject;
  #seq = 0;

  constructor(key: Uint8Array) {
    this.#key = createSecretKey(key);
  }

  /** The number the next record gets. */
  get seq(): number {
    return this.#seq;
  }

  /** Encrypts parts as one record; the result is in parts as well, so that it is copied once, when it is sent. */
  seal(plaintext: readonly Uint8Array[]): Uint8Array[] {
    if (this.#seq >= LAST_SEQ) throw new RelayError('the stream has used up its sequence numbers');
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce(this.#seq));
    this.#seq++;
    const sealed: Uint8Array[] = plaintext.map((part) => cipher.update(part));
    cipher.final();
    sealed.push(cipher.getAuthTag());
    return sealed;
  }
}

/** Decrypts the records of one direction, in order. */
export class RecordOpener {
  readonly #key: KeyObject;
  #seq = 0;

  constructor(key: Uint8Array) {
    this.#key = createSecretKey(key);
  }

  open(record: Uint8Array): Uint8Array {
    if (record.length < TAG_BYTES) throw new RelayError('record is shorter than its tag');
    const decipher = createDecipheriv('aes-256-gcm', this.#key, nonce(this.#seq), { authTagLength: TAG_BYTES });
    const end = record.length - TAG_BYTES;
    decipher.setAuthTag(record.subarray(end));
    const plaintext = decipher.update(record.subarray(0, end));
    try {
      decipher.final();
    } catch {
      throw new RelayError('record is not authentic'); // OpenSSL gives no other reason
    }
    this.#seq++;
    return plaintext;
  }
}

/** Four zero bytes, then the counter. */
export function nonce(counter: number): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt32BE(Math.floor(counter / 2 ** 32), 4);
  bytes.writeUInt32BE(counter >>> 0, 8);
  return bytes;
}
