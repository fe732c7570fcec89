import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readProto } from '../../../test/relay/proto-file.ts';
import { fromHex, goldenFile, type HandshakeVector, toHex } from '../../../test/relay/vectors.ts';
import { decodeFrame, encodeDataFrame, encodeFrame, type RelayBody, type RelayFrame, readEnvelope } from './frame.ts';

interface GoldenFrames {
  readonly frames: readonly { readonly name: string; readonly hex: string; readonly upstream_verdict: string }[];
}

const { frames } = goldenFile<GoldenFrames>('frames');
const captured = ['real-executor-session', 'real-harness-session'].flatMap(
  (name) => goldenFile<HandshakeVector>(name).frames ?? [],
);

/** The frame as another implementation of protobuf understands it from the published file. */
const schema = readProto(new URL('../../../docs/relay-frames.proto', import.meta.url)).getMessage(
  'codex.exec_server.relay.v1.RelayMessageFrame',
)!;

function encodeByOther({ streamId, ack = 0, ackBits = 0, body, ...trace }: RelayFrame): Uint8Array {
  const { type, ...value } = body;
  const chosen = { case: type === 'ack' ? 'ackFrame' : type, value };
  return toBinary(
    schema,
    create(schema, { version: 1, streamId, ack, ackBits, body: chosen, ...trace } as Record<string, unknown>),
  );
}

const uint32 = fc.oneof(
  fc.constantFrom(0, 1, 127, 128, 2 ** 31, 2 ** 32 - 1),
  fc.integer({ min: 0, max: 2 ** 32 - 1 }),
);
const payload = fc.uint8Array({ minLength: 1, maxLength: 300 });
const place = fc
  .record({ seq: uint32, segmentIndex: uint32, segmentCount: uint32 })
  .filter(({ segmentIndex, segmentCount }) => segmentIndex < segmentCount);
const body: fc.Arbitrary<RelayBody> = fc.oneof(
  fc.tuple(place, payload).map(([numbers, bytes]) => ({ type: 'data' as const, ...numbers, payload: bytes })),
  fc.record({ type: fc.constant('ack' as const) }),
  fc.record({ type: fc.constant('resume' as const), nextSeq: uint32 }),
  fc.record({ type: fc.constant('reset' as const), reason: fc.string({ minLength: 1, unit: 'binary' }) }),
  fc.record({ type: fc.constant('heartbeat' as const) }),
  fc.record({ type: fc.constant('handshake' as const), payload }),
);
const frame: fc.Arbitrary<RelayFrame> = fc.record(
  {
    streamId: fc.string({ minLength: 1, maxLength: 200, unit: 'binary' }).filter((id) => id.trim() !== ''),
    ack: uint32,
    ackBits: uint32,
    body,
    traceparent: fc.string(),
    tracestate: fc.string({ unit: 'binary' }),
  },
  { requiredKeys: ['streamId', 'ack', 'ackBits', 'body'] },
);

/** Payloads may be any kind of byte array. */
const plain = (value: RelayFrame): unknown =>
  JSON.parse(
    JSON.stringify(value, (_, member) => (member instanceof Uint8Array ? toHex(member) : member)),
    (_, member) => (member?.type === 'Buffer' ? toHex(Buffer.from(member.data)) : member),
  );

const numberOf = (body: RelayBody): number | undefined =>
  body.type === 'data' ? body.seq : body.type === 'resume' ? body.nextSeq : undefined;

describe('a relay frame', () => {
  it('is encoded as another implementation of protobuf does, and decoded again by both', () => {
    fc.assert(
      fc.property(frame, (value) => {
        const encoded = encodeFrame(value);

        expect(toHex(encoded)).toBe(toHex(encodeByOther(value)));
        expect(toHex(toBinary(schema, fromBinary(schema, encoded)))).toBe(toHex(encoded));
        expect(plain(decodeFrame(encoded, { segments: true }))).toEqual(plain(value));
        const seq = numberOf(value.body);
        expect(readEnvelope(encoded)).toEqual({ streamId: value.streamId, body: value.body.type, seq });
      }),
      { numRuns: 500 },
    );
  });

  it('with a payload in parts is that with the parts joined', () => {
    fc.assert(
      fc.property(place, fc.array(fc.uint8Array({ maxLength: 200 }), { minLength: 1, maxLength: 4 }), (seq, parts) => {
        const joined = Buffer.concat(parts);
        fc.pre(joined.length > 0);
        const expected: RelayBody = { type: 'data', ...seq, payload: joined };

        expect(toHex(Buffer.concat(encodeDataFrame({ streamId: 's', ack: 3, ackBits: 9 }, seq, parts)))).toBe(
          toHex(encodeFrame({ streamId: 's', ack: 3, ackBits: 9, body: expected })),
        );
      }),
      { numRuns: 100 },
    );
  });

  it.each(captured.map(({ hex }, at) => [at, hex]))(
    'captured from the reference, number %i, is encoded the same',
    (_, hex) => {
      expect(toHex(encodeFrame(decodeFrame(fromHex(hex as string))))).toBe(hex);
    },
  );

  it.each(frames)('$name is judged as the reference does', ({ hex, upstream_verdict }) => {
    if (upstream_verdict === 'accepted') expect(toHex(encodeFrame(decodeFrame(fromHex(hex))))).toBe(hex);
    else expect(() => decodeFrame(fromHex(hex))).toThrow();
  });

  it('is read past unknown fields', () => {
    const known = encodeFrame({ streamId: 's', body: { type: 'resume', nextSeq: 7 } });
    const unknown = fromHex('a80605a9060102030405060708aa0603010203ad0601020304');

    expect(decodeFrame(Buffer.concat([unknown, known, unknown])).body).toEqual({ type: 'resume', nextSeq: 7 });
  });

  it.each([
    ['of another version', '0802120173' + '4a00', 'unsupported version 2'],
    ['without a version', '120173' + '4a00', 'unsupported version 0'],
    ['for a blank stream', '0801120120' + '4a00', 'stream id is blank'],
    ['whose stream id is no text', '08011201ff' + '4a00', 'field 2 is not UTF-8'],
    ['without a body', '0801120173', 'frame has no body'],
    ['of data without a payload', '0801120173' + '2a021801', 'data has no payload'],
    ['of the second segment', '0801120173' + '2a07100118022201aa', 'data is segment 1 of 2'],
    ['of no segments', '0801120173' + '2a032201aa', 'data is segment 0 of 0'],
    ['of a reset without a reason', '0801120173' + '4200', 'reset has no reason'],
    ['of a handshake without a payload', '0801120173' + '5200', 'handshake has no payload'],
    ['that ends in the middle', '0801120173' + '4a05', 'frame is cut short'],
    ['that ends in a number', '08', 'frame is cut short'],
    ['with a number that never ends', `08${'ff'.repeat(10)}01`, 'varint is longer than 10 bytes'],
    ['with a number where text belongs', '08011001' + '4a00', 'field 2 has wire type 0'],
    ['with an unknown wire type', '0801120173' + '4a00' + '7b', 'field 15 has unknown wire type 3'],
    ['with field number 0', '00', 'field number is 0'],
  ])('%s is refused', (_, hex, reason) => {
    expect(() => decodeFrame(fromHex(hex))).toThrow(reason);
  });

  it('of the plain relay may be a segment', () => {
    expect(decodeFrame(fromHex('0801120173' + '2a07100118022201aa'), { segments: true }).body).toMatchObject({
      segmentIndex: 1,
      segmentCount: 2,
    });
    expect(() => decodeFrame(fromHex('0801120173' + '2a07100218022201aa'), { segments: true })).toThrow(
      'data is segment 2 of 2',
    );
  });

  it('has the envelope that its decoded form has, for arbitrary bytes', () => {
    const mutated = fc
      .tuple(frame, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }))
      .map(([value, edits]) => {
        const bytes = Buffer.from(encodeFrame(value));
        for (const [at, byte] of edits) bytes[at % bytes.length] = byte;
        return bytes;
      });
    fc.assert(
      fc.property(fc.oneof(mutated, fc.uint8Array({ maxLength: 60 })), (bytes) => {
        const envelope = readEnvelope(bytes);
        let decoded: RelayFrame | undefined;
        try {
          decoded = decodeFrame(bytes);
        } catch {
          return; // an envelope may be fine although its content is not
        }
        expect(envelope).toMatchObject({ streamId: decoded.streamId, body: decoded.body.type });
        expect(envelope?.seq).toBe(numberOf(decoded.body));
      }),
      { numRuns: 1000 },
    );
  });
});
