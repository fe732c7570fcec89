import { concatBytes } from '../../base/index.ts';
import { frameLength } from './frame-transport.ts';
import { bytes, delimiter, encodeFields, type Field, FieldReader, message, text, uint32 } from './protobuf.ts';
import { RelayError } from './relay-error.ts';

export interface RelayData {
  readonly type: 'data';
  readonly seq: number;
  readonly segmentIndex: number;
  readonly segmentCount: number;
  readonly payload: Uint8Array;
}

export type RelayBody =
  | RelayData
  | { readonly type: 'ack' }
  | { readonly type: 'resume'; readonly nextSeq: number }
  | { readonly type: 'reset'; readonly reason: string }
  | { readonly type: 'heartbeat' }
  | { readonly type: 'handshake'; readonly payload: Uint8Array };

/** One binary WebSocket message between harness and environment. */
export interface RelayFrame {
  readonly streamId: string;
  /** 0 when absent. */
  readonly ack?: number;
  readonly ackBits?: number;
  readonly body: RelayBody;
  readonly traceparent?: string;
  readonly tracestate?: string;
}

/** The only version there is. */
const VERSION = 1;

/** Field numbers of the bodies. */
const bodyTypes: Readonly<Record<number, RelayBody['type']>> = {
  5: 'data',
  6: 'ack',
  7: 'resume',
  8: 'reset',
  9: 'heartbeat',
  10: 'handshake',
};

export function encodeFrame(frame: RelayFrame): Uint8Array {
  const fields = [
    uint32(1, VERSION),
    text(2, frame.streamId),
    uint32(3, frame.ack ?? 0),
    uint32(4, frame.ackBits ?? 0),
  ];
  fields.push(bodyField(frame.body));
  // Unlike the other scalars these two are written even when empty: proto3 calls them optional.
  if (frame.traceparent !== undefined) fields.push(optionalText(11, frame.traceparent));
  if (frame.tracestate !== undefined) fields.push(optionalText(12, frame.tracestate));
  return encodeFields(fields);
}

/** A data frame around a payload in parts, which are not copied: the bytes before them, and the parts. */
export function encodeDataFrame(
  head: Pick<RelayFrame, 'streamId' | 'ack' | 'ackBits'>,
  { seq, segmentIndex, segmentCount }: Omit<RelayData, 'type' | 'payload'>,
  payload: readonly Uint8Array[],
): Uint8Array[] {
  const { streamId, ack = 0, ackBits = 0 } = head;
  const length = frameLength(payload);
  const outer = encodeFields([uint32(1, VERSION), text(2, streamId), uint32(3, ack), uint32(4, ackBits)]);
  const inner = concatBytes([
    encodeFields([uint32(1, seq), uint32(2, segmentIndex), uint32(3, segmentCount)]),
    delimiter(4, length),
  ]);
  return [concatBytes([outer, delimiter(5, inner.length + length), inner]), ...payload];
}

const optionalText = (no: number, value: string): Field => (value === '' ? message(no) : text(no, value));

function bodyField(body: RelayBody): Field {
  switch (body.type) {
    case 'data':
      return message(
        5,
        uint32(1, body.seq),
        uint32(2, body.segmentIndex),
        uint32(3, body.segmentCount),
        bytes(4, body.payload),
      );
    case 'ack':
      return message(6);
    case 'resume':
      return message(7, uint32(1, body.nextSeq));
    case 'reset':
      return message(8, text(1, body.reason));
    case 'heartbeat':
      return message(9);
    case 'handshake':
      return message(10, bytes(1, body.payload));
  }
}

export interface DecodeOptions {
  /** Whether a message may be spread over several data frames, as only the plain relay allows. */
  readonly segments?: boolean;
}

/** Decodes and validates; throws a `RelayError` that says what is wrong. Payloads are views of the frame. */
export function decodeFrame(frame: Uint8Array, options: DecodeOptions = {}): RelayFrame {
  const reader = new FieldReader(frame);
  let version = 0;
  let streamId = '';
  let ack = 0;
  let ackBits = 0;
  let body: RelayBody | undefined;
  const trace: { traceparent?: string; tracestate?: string } = {};
  while (reader.next()) {
    if (reader.no === 1) version = reader.uint32();
    else if (reader.no === 2) streamId = reader.text();
    else if (reader.no === 3) ack = reader.uint32();
    else if (reader.no === 4) ackBits = reader.uint32();
    else if (bodyTypes[reader.no]) body = readBody(bodyTypes[reader.no]!, reader.message());
    else if (reader.no === 11) trace.traceparent = reader.text();
    else if (reader.no === 12) trace.tracestate = reader.text();
    else reader.skip();
  }
  if (version !== VERSION) throw new RelayError(`unsupported version ${version}`);
  if (streamId.trim() === '') throw new RelayError('stream id is blank');
  if (!body) throw new RelayError('frame has no body');
  requireValid(body, options.segments ?? false);
  return { streamId, ack, ackBits, body, ...trace };
}

function readBody(type: RelayBody['type'], reader: FieldReader): RelayBody {
  const number = [0, 0, 0, 0];
  let payload: Uint8Array = new Uint8Array(0);
  let reason = '';
  while (reader.next()) {
    if (type === 'data' && reader.no <= 3) number[reader.no] = reader.uint32();
    else if (type === 'data' && reader.no === 4) payload = reader.bytes();
    else if (type === 'resume' && reader.no === 1) number[1] = reader.uint32();
    else if (type === 'reset' && reader.no === 1) reason = reader.text();
    else if (type === 'handshake' && reader.no === 1) payload = reader.bytes();
    else reader.skip();
  }
  if (type === 'data') {
    return { type, seq: number[1]!, segmentIndex: number[2]!, segmentCount: number[3]!, payload };
  }
  if (type === 'resume') return { type, nextSeq: number[1]! };
  if (type === 'reset') return { type, reason };
  if (type === 'handshake') return { type, payload };
  return { type };
}

function requireValid(body: RelayBody, segments: boolean): void {
  if (body.type === 'reset' && body.reason === '') throw new RelayError('reset has no reason');
  if (body.type === 'handshake' && body.payload.length === 0) throw new RelayError('handshake has no payload');
  if (body.type !== 'data') return;
  if (body.payload.length === 0) throw new RelayError('data has no payload');
  const { segmentIndex: index, segmentCount: count } = body;
  const valid = segments ? index < count : index === 0 && count === 1;
  if (!valid) throw new RelayError(`data is segment ${index} of ${count}`);
}

/** The fields of a frame that a rendezvous reads. */
export interface Envelope {
  readonly streamId: string;
  readonly body: RelayBody['type'];
  /** The number of data, or the next one that a `resume` asks for. */
  readonly seq?: number;
}

/** Reads a frame without its payload; `undefined` for bytes that are not a frame. */
export function readEnvelope(frame: Uint8Array): Envelope | undefined {
  try {
    const reader = new FieldReader(frame);
    let version = 0;
    let streamId = '';
    let body: RelayBody['type'] | undefined;
    let seq = 0;
    while (reader.next()) {
      if (reader.no === 1) version = reader.uint32();
      else if (reader.no === 2) streamId = reader.text();
      else if (bodyTypes[reader.no]) {
        body = bodyTypes[reader.no]!;
        const content = reader.message();
        if (isNumbered(body)) seq = readSeq(content);
      } else reader.skip();
    }
    if (version !== VERSION || streamId.trim() === '' || !body) return undefined;
    return isNumbered(body) ? { streamId, body, seq } : { streamId, body };
  } catch {
    return undefined; // not a frame
  }
}

const isNumbered = (body: RelayBody['type']): boolean => body === 'data' || body === 'resume';

function readSeq(body: FieldReader): number {
  let seq = 0;
  while (body.next()) {
    if (body.no === 1) seq = body.uint32();
    else body.skip();
  }
  return seq;
}
