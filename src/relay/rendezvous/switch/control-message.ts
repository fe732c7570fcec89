import { decodeUtf8, encodeUtf8 } from '../../../base/index.ts';

/** Messages between the two nodes of a link, besides the relay frames that travel on it. */
export type ControlMessage =
  /** A harness wants to be attached. It had `streams` before, and both ends of those resume what is lost. */
  | { readonly type: 'open'; readonly key: string; readonly streams: readonly string[] }
  | { readonly type: 'opened' }
  /** There is no socket at the address, or it has closed. */
  | { readonly type: 'gone' }
  /** Is there a socket at the address? */
  | { readonly type: 'ask' }
  | { readonly type: 'here' }
  /** Bytes of a stream were written to the socket of its receiver. */
  | { readonly type: 'credit'; readonly stream: string; readonly bytes: number }
  /** The sender's count of the frames before this message. */
  | { readonly type: 'pulse'; readonly sent: number }
  /** Fewer frames arrived than were counted. */
  | { readonly type: 'lost' }
  /** Both ends of the stream resume what is lost. */
  | { readonly type: 'reliable'; readonly stream: string };

/** Control messages are JSON. No relay frame begins with this byte, because frames have no field 15. */
const BRACE = 0x7b;

export const isControl = (payload: Uint8Array): boolean => payload[0] === BRACE;

export const encodeControl = (message: ControlMessage): Uint8Array => encodeUtf8(JSON.stringify(message));

/** Only nodes with the cluster's secret write on the bus, so the shape is trusted. */
export const decodeControl = (payload: Uint8Array): ControlMessage => JSON.parse(decodeUtf8(payload)) as ControlMessage;
