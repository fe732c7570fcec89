import { diffieHellman, type KeyObject, randomBytes } from 'node:crypto';
import { ml_kem768 } from '@noble/post-quantum/ml-kem.js';
import { RelayError } from '../wire/relay-error.ts';
import {
  generateRelayKeys,
  type KeySeed,
  MLKEM_PUBLIC_BYTES,
  type PublicKeyObject,
  publicKeyObject,
  type RelayKeys,
  randomSeed,
  rawPublicKeys,
  X25519_BYTES,
  x25519PublicKey,
} from './keys.ts';
import { RecordOpener, RecordSealer, TAG_BYTES } from './record-cipher.ts';
import { SymmetricState } from './symmetric-state.ts';

/** Not the suite of the key object: this one says 25519. */
const PROTOCOL_NAME = 'Noise_hybridIK_25519+MLKEM768_AESGCM_SHA256';
const MLKEM_CIPHERTEXT_BYTES = 1088;
const LARGEST_MESSAGE = 65_535;

/** The context that a handshake is bound to: it fails if the two ends have different ones. */
export interface HandshakeContext {
  readonly environmentId: string;
  readonly registrationId: string;
  readonly streamId: string;
}

/** The result of a handshake: the ciphers of the records that follow it. */
export interface RecordCiphers {
  readonly sealer: RecordSealer;
  readonly opener: RecordOpener;
  readonly hash: Uint8Array;
}

/** The random values of a handshake, which tests set. */
export interface InitiatorSecrets {
  readonly skemCoins: Uint8Array;
  readonly ephemeral: KeySeed;
}

export interface ResponderSecrets extends InitiatorSecrets {
  readonly ekemCoins: Uint8Array;
}

export function handshakePrologue({ environmentId, registrationId, streamId }: HandshakeContext): Uint8Array {
  const parts = ['codex-exec-server-relay-noise/v1', environmentId, registrationId, streamId];
  return Buffer.concat(
    parts.flatMap((part) => {
      const content = Buffer.from(part);
      const length = Buffer.alloc(8);
      length.writeUInt32BE(content.length, 4);
      return [length, content];
    }),
  );
}

function begin(context: HandshakeContext, responder: { x25519: Uint8Array; mlkem: Uint8Array }): SymmetricState {
  const state = new SymmetricState(PROTOCOL_NAME);
  state.mixHash(handshakePrologue(context));
  state.mixHash(responder.x25519);
  state.mixHash(responder.mlkem);
  return state;
}

/** The harness's side: `-> skem, e, es, s, ss` and the payload, then `<- ekem, skem, e, ee, se` without one. */
export class InitiatorHandshake {
  readonly #keys: RelayKeys;
  readonly #peer: { readonly x25519: Uint8Array; readonly mlkem: Uint8Array };
  readonly #ephemeral: RelayKeys;
  readonly #skemCoins: Uint8Array;
  readonly #state: SymmetricState;

  constructor(keys: RelayKeys, peer: PublicKeyObject, context: HandshakeContext, secrets?: InitiatorSecrets) {
    this.#keys = keys;
    this.#peer = rawPublicKeys(peer);
    this.#ephemeral = generateRelayKeys(secrets?.ephemeral ?? randomSeed());
    this.#skemCoins = secrets?.skemCoins ?? randomBytes(32);
    this.#state = begin(context, this.#peer);
  }

  writeMessage1(payload: Uint8Array): Uint8Array {
    const state = this.#state;
    const skem = encapsulate(this.#peer.mlkem, this.#skemCoins);
    const parts = [state.encryptAndHash(skem.cipherText)];
    state.mixKeyAndHash(skem.sharedSecret);
    parts.push(...sendEphemeral(state, this.#ephemeral));
    state.mixKey(agree(this.#ephemeral.x25519, this.#peer.x25519));
    parts.push(state.encryptAndHash(this.#keys.x25519Public), state.encryptAndHash(this.#keys.mlkemPublic));
    state.mixKey(agree(this.#keys.x25519, this.#peer.x25519));
    parts.push(state.encryptAndHash(payload));
    return Buffer.concat(parts);
  }

  readMessage2(message: Uint8Array): RecordCiphers {
    const state = this.#state;
    const reader = new MessageReader(message);
    const ekem = reader.take(MLKEM_CIPHERTEXT_BYTES);
    state.mixHash(ekem);
    state.mixKey(ml_kem768.decapsulate(ekem, this.#ephemeral.mlkemSecret));
    const skem = state.decryptAndHash(reader.take(MLKEM_CIPHERTEXT_BYTES + TAG_BYTES));
    state.mixKeyAndHash(ml_kem768.decapsulate(skem, this.#keys.mlkemSecret));
    const ephemeral = receiveEphemeral(state, reader);
    state.mixKey(agree(this.#ephemeral.x25519, ephemeral.x25519));
    state.mixKey(agree(this.#keys.x25519, ephemeral.x25519));
    const payload = state.decryptAndHash(reader.rest());
    if (payload.length > 0) throw new RelayError('handshake answer has a payload');
    const [outward, inward] = state.split();
    return { sealer: new RecordSealer(outward), opener: new RecordOpener(inward), hash: state.hash };
  }
}

/** The environment's side. */
export class ResponderHandshake {
  readonly #keys: RelayKeys;
  readonly #secrets: ResponderSecrets | undefined;
  readonly #state: SymmetricState;
  #peer: { readonly x25519: Uint8Array; readonly mlkem: Uint8Array; readonly ephemeral: RawKeys } | undefined;

  constructor(keys: RelayKeys, context: HandshakeContext, secrets?: ResponderSecrets) {
    this.#keys = keys;
    this.#secrets = secrets;
    this.#state = begin(context, { x25519: keys.x25519Public, mlkem: keys.mlkemPublic });
  }

  /** The key of the harness, which the handshake proves, and the payload it sent. */
  readMessage1(message: Uint8Array): { readonly key: PublicKeyObject; readonly payload: Uint8Array } {
    const state = this.#state;
    const reader = new MessageReader(message);
    const skem = state.decryptAndHash(reader.take(MLKEM_CIPHERTEXT_BYTES));
    state.mixKeyAndHash(ml_kem768.decapsulate(skem, this.#keys.mlkemSecret));
    const ephemeral = receiveEphemeral(state, reader);
    state.mixKey(agree(this.#keys.x25519, ephemeral.x25519));
    const x25519 = state.decryptAndHash(reader.take(X25519_BYTES + TAG_BYTES));
    const mlkem = state.decryptAndHash(reader.take(MLKEM_PUBLIC_BYTES + TAG_BYTES));
    state.mixKey(agree(this.#keys.x25519, x25519));
    const payload = state.decryptAndHash(reader.rest());
    this.#peer = { x25519, mlkem, ephemeral };
    return { key: publicKeyObject({ x25519Public: x25519, mlkemPublic: mlkem }), payload };
  }

  writeMessage2(): { readonly message: Uint8Array; readonly ciphers: RecordCiphers } {
    const peer = this.#peer;
    if (!peer) throw new RelayError('handshake is answered before it was read');
    const state = this.#state;
    const own = generateRelayKeys(this.#secrets?.ephemeral ?? randomSeed());
    const ekem = encapsulate(peer.ephemeral.mlkem, this.#secrets?.ekemCoins ?? randomBytes(32));
    const parts = [ekem.cipherText];
    state.mixHash(ekem.cipherText);
    state.mixKey(ekem.sharedSecret);
    const skem = encapsulate(peer.mlkem, this.#secrets?.skemCoins ?? randomBytes(32));
    parts.push(state.encryptAndHash(skem.cipherText));
    state.mixKeyAndHash(skem.sharedSecret);
    parts.push(...sendEphemeral(state, own));
    state.mixKey(agree(own.x25519, peer.ephemeral.x25519));
    state.mixKey(agree(own.x25519, peer.x25519));
    parts.push(state.encryptAndHash(new Uint8Array(0)));
    const [inward, outward] = state.split();
    const ciphers = { sealer: new RecordSealer(outward), opener: new RecordOpener(inward), hash: state.hash };
    return { message: Buffer.concat(parts), ciphers };
  }
}

interface RawKeys {
  readonly x25519: Uint8Array;
  readonly mlkem: Uint8Array;
}

function sendEphemeral(state: SymmetricState, { x25519Public, mlkemPublic }: RelayKeys): Uint8Array[] {
  state.mixHash(x25519Public);
  state.mixHash(mlkemPublic);
  return [x25519Public, mlkemPublic];
}

function receiveEphemeral(state: SymmetricState, reader: MessageReader): RawKeys {
  const x25519 = reader.take(X25519_BYTES);
  const mlkem = reader.take(MLKEM_PUBLIC_BYTES);
  state.mixHash(x25519);
  state.mixHash(mlkem);
  return { x25519, mlkem };
}

function agree(own: KeyObject, peer: Uint8Array): Uint8Array {
  try {
    return diffieHellman({ privateKey: own, publicKey: x25519PublicKey(peer) });
  } catch (cause) {
    throw new RelayError('x25519 key is unusable', { cause }); // of low order
  }
}

function encapsulate(key: Uint8Array, coins: Uint8Array): { cipherText: Uint8Array; sharedSecret: Uint8Array } {
  try {
    return ml_kem768.encapsulate(key, coins);
  } catch (cause) {
    throw new RelayError('ML-KEM key is unusable', { cause });
  }
}

class MessageReader {
  readonly #message: Uint8Array;
  #at = 0;

  constructor(message: Uint8Array) {
    if (message.length > LARGEST_MESSAGE) throw new RelayError('handshake message is too long');
    this.#message = message;
  }

  take(length: number): Uint8Array {
    const start = this.#at;
    this.#at += length;
    if (this.#at > this.#message.length) throw new RelayError('handshake message is cut short');
    return this.#message.subarray(start, this.#at);
  }

  rest(): Uint8Array {
    return this.#message.subarray(this.#at);
  }
}
