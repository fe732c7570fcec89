import { describe, expect, it } from 'vitest';
import {
  type EphemeralSecrets,
  fromHex,
  goldenFile,
  type HandshakeVector,
  type StaticSecrets,
  seedOf,
  toHex,
} from '../../../test/relay/vectors.ts';
import { handshakePrologue, InitiatorHandshake, type RecordCiphers, ResponderHandshake } from './handshake.ts';
import { generateRelayKeys, type PublicKeyObject, publicKeyObject } from './keys.ts';

interface FixedKeys extends HandshakeVector {
  readonly prologue_hex: string;
  readonly initiator_static: StaticSecrets;
  readonly responder_static: StaticSecrets;
  readonly initiator_ephemeral: EphemeralSecrets;
  readonly responder_ephemeral: EphemeralSecrets;
  readonly message1_payload_hex: string;
}

interface Captured extends HandshakeVector {
  readonly environment_id: string;
  readonly executor_registration_id: string;
  readonly stream_id: string;
}

interface RealExecutor extends Captured {
  readonly executor_public_key: PublicKeyObject;
  readonly harness_key_authorization: string;
  readonly initiator_static: StaticSecrets;
  readonly initiator_ephemeral: EphemeralSecrets;
}

interface RealHarness extends Captured {
  readonly harness_public_key: PublicKeyObject;
  readonly message1_payload_utf8: string;
  readonly responder_static: StaticSecrets;
  readonly responder_ephemeral: EphemeralSecrets;
}

const fixed = goldenFile<FixedKeys>('noise-fixed-keys');
const executor = goldenFile<RealExecutor>('real-executor-session');
const harness = goldenFile<RealHarness>('real-harness-session');

const secretsOf = (secrets: EphemeralSecrets) => ({
  ephemeral: seedOf(secrets),
  skemCoins: fromHex(secrets.skem_coins),
  ekemCoins: fromHex(secrets.ekem_coins ?? ''),
});

const contextOf = ({ environment_id, executor_registration_id, stream_id }: Captured) => ({
  environmentId: environment_id,
  registrationId: executor_registration_id,
  streamId: stream_id,
});

const context = { environmentId: 'env-1', registrationId: 'registration-1', streamId: 'stream-1' };

/** Runs the records through the ciphers of one end: encrypts its own again, decrypts those of the other end. */
function replay({ records }: HandshakeVector, own: string, { sealer, opener }: RecordCiphers): string[] {
  return records.map(({ direction, plaintext_hex, ciphertext_hex }) =>
    direction === own
      ? toHex(Buffer.concat(sealer.seal([fromHex(plaintext_hex)])))
      : toHex(opener.open(fromHex(ciphertext_hex))),
  );
}

const expected = ({ records }: HandshakeVector, own: string): string[] =>
  records.map(({ direction, plaintext_hex, ciphertext_hex }) => (direction === own ? ciphertext_hex : plaintext_hex));

describe('the handshake with known secrets', () => {
  const initiatorKeys = generateRelayKeys(seedOf(fixed.initiator_static));
  const responderKeys = generateRelayKeys(seedOf(fixed.responder_static));

  it('is bound to environment, registration and stream', () => {
    expect(toHex(handshakePrologue(context))).toBe(fixed.prologue_hex);
  });

  it('gives the recorded messages, hash and records at both ends', () => {
    const secrets = secretsOf(fixed.initiator_ephemeral);
    const initiator = new InitiatorHandshake(initiatorKeys, publicKeyObject(responderKeys), context, secrets);
    const responder = new ResponderHandshake(responderKeys, context, secretsOf(fixed.responder_ephemeral));

    const message1 = initiator.writeMessage1(fromHex(fixed.message1_payload_hex));
    const { key, payload } = responder.readMessage1(message1);
    const { message: message2, ciphers: responderCiphers } = responder.writeMessage2();
    const initiatorCiphers = initiator.readMessage2(message2);

    expect(toHex(message1)).toBe(fixed.message1_hex);
    expect(toHex(payload)).toBe(fixed.message1_payload_hex);
    expect(key).toEqual(publicKeyObject(initiatorKeys));
    expect(toHex(message2)).toBe(fixed.message2_hex);
    expect([toHex(initiatorCiphers.hash), toHex(responderCiphers.hash)]).toEqual([
      fixed.handshake_hash_hex,
      fixed.handshake_hash_hex,
    ]);
    for (const [own, ciphers] of [
      ['initiator->responder', initiatorCiphers],
      ['responder->initiator', responderCiphers],
    ] as const) {
      expect(replay(fixed, own, ciphers)).toEqual(expected(fixed, own));
    }
  });
});

describe('the handshake with the reference', () => {
  it('as the harness reproduces a session with a real executor', () => {
    const keys = generateRelayKeys(seedOf(executor.initiator_static));
    const secrets = secretsOf(executor.initiator_ephemeral);
    const initiator = new InitiatorHandshake(keys, executor.executor_public_key, contextOf(executor), secrets);

    const message1 = initiator.writeMessage1(Buffer.from(executor.harness_key_authorization));
    const ciphers = initiator.readMessage2(fromHex(executor.message2_hex));

    expect(toHex(message1)).toBe(executor.message1_hex);
    expect(toHex(ciphers.hash)).toBe(executor.handshake_hash_hex);
    expect(replay(executor, 'initiator->responder', ciphers)).toEqual(expected(executor, 'initiator->responder'));
  });

  it('as the environment reproduces a session with a real harness', () => {
    const keys = generateRelayKeys(seedOf(harness.responder_static));
    const responder = new ResponderHandshake(keys, contextOf(harness), secretsOf(harness.responder_ephemeral));

    const { key, payload } = responder.readMessage1(fromHex(harness.message1_hex));
    const { message, ciphers } = responder.writeMessage2();

    expect(key).toEqual(harness.harness_public_key);
    expect(payload.toString()).toBe(harness.message1_payload_utf8);
    expect(toHex(message)).toBe(harness.message2_hex);
    expect(toHex(ciphers.hash)).toBe(harness.handshake_hash_hex);
    expect(replay(harness, 'responder->initiator', ciphers)).toEqual(expected(harness, 'responder->initiator'));
  });
});

describe('a handshake', () => {
  const initiatorKeys = generateRelayKeys();
  const responderKeys = generateRelayKeys();
  const begin = (to = responderKeys) => new InitiatorHandshake(initiatorKeys, publicKeyObject(to), context);
  const authorization = Buffer.from('authorization');

  it.each([
    ['another environment', { ...context, environmentId: 'env-2' }],
    ['another registration', { ...context, registrationId: 'registration-2' }],
    ['another stream', { ...context, streamId: 'stream-2' }],
    ['parts cut elsewhere', { ...context, environmentId: 'env-1r', registrationId: 'egistration-1' }],
  ])('fails with %s', (_, other) => {
    const message1 = begin().writeMessage1(authorization);

    expect(() => new ResponderHandshake(responderKeys, other).readMessage1(message1)).toThrow(
      'handshake message is not authentic',
    );
  });

  it('fails with an executor that has another key', () => {
    const message1 = begin(generateRelayKeys()).writeMessage1(authorization);

    expect(() => new ResponderHandshake(responderKeys, context).readMessage1(message1)).toThrow('not authentic');
  });

  it('fails when any part of message 1 was changed or cut off', () => {
    const message1 = begin().writeMessage1(authorization);
    const read = (bytes: Uint8Array) => () => new ResponderHandshake(responderKeys, context).readMessage1(bytes);

    for (const at of [0, 1087, 1088, 1119, 1120, 2303, 2304, 2351, 2352, 3551, 3552, message1.length - 1]) {
      const changed = Buffer.from(message1);
      changed[at]! ^= 1;
      expect(read(changed), `byte ${at}`).toThrow(/not authentic|unusable/);
    }
    for (const length of [0, 100, 1088, 3551, 3560]) expect(read(message1.subarray(0, length))).toThrow('cut short');
    expect(read(message1.subarray(0, -1))).toThrow('not authentic');
    expect(read(new Uint8Array(65_536))).toThrow('too long');
  });

  it('fails when any part of message 2 was changed', () => {
    for (const at of [0, 1087, 1088, 2191, 2192, 2223, 2224, 3407, 3408, 3423]) {
      const initiator = begin();
      const responder = new ResponderHandshake(responderKeys, context);
      responder.readMessage1(initiator.writeMessage1(authorization));
      const message2 = Buffer.from(responder.writeMessage2().message);
      message2[at]! ^= 1;

      expect(() => initiator.readMessage2(message2), `byte ${at}`).toThrow(/not authentic|unusable/);
    }
  });

  it('refuses a key of low order', () => {
    const peer = { ...publicKeyObject(responderKeys), x25519_public_key: Buffer.alloc(32).toString('base64') };

    expect(() => new InitiatorHandshake(initiatorKeys, peer, context).writeMessage1(authorization)).toThrow(
      'x25519 key is unusable',
    );
  });

  it('refuses an ML-KEM key with numbers out of range', () => {
    const peer = {
      ...publicKeyObject(responderKeys),
      mlkem768_public_key: Buffer.alloc(1184, 0xff).toString('base64'),
    };

    expect(() => new InitiatorHandshake(initiatorKeys, peer, context).writeMessage1(authorization)).toThrow(
      'ML-KEM key is unusable',
    );
  });
});

describe('records', () => {
  it('are refused when they are replayed, changed, or cut off', () => {
    const initiator = new InitiatorHandshake(generateRelayKeys(), publicKeyObject(generateRelayKeys()), context);
    expect(() => initiator.readMessage2(new Uint8Array(10))).toThrow('cut short');
    const responderKeys = generateRelayKeys();
    const calling = new InitiatorHandshake(generateRelayKeys(), publicKeyObject(responderKeys), context);
    const called = new ResponderHandshake(responderKeys, context);
    called.readMessage1(calling.writeMessage1(Buffer.from('a')));
    const { message, ciphers } = called.writeMessage2();
    const { sealer } = calling.readMessage2(message);
    const first = Buffer.concat(sealer.seal([Buffer.from('one'), Buffer.from('!')]));
    const changed = Buffer.from(first);
    changed[1]! ^= 1;

    expect(() => ciphers.opener.open(changed)).toThrow('record is not authentic');
    expect(() => ciphers.opener.open(first.subarray(0, 15))).toThrow('shorter than its tag');
    expect(ciphers.opener.open(first).toString()).toBe('one!');
    expect(() => ciphers.opener.open(first)).toThrow('record is not authentic');
  });
});
