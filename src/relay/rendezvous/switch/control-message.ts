import { decodeUtf8, encodeUtf8 } from '../../../base/index.ts';

/** What the two nodes of a link say to each other besides the frames they pass on. */
export type ControlMessage =
  /** A harness is here. `streams` have been talked on before, between endpoints that repeat what was lost. */
  | { readonly type: 'open'; readonly key: string; readonly streams: readonly string[] }
  | { readonly type: 'opened' }
  /** Whoever was at the address is not there, or no more. */
  | { readonly type: 'gone' }
  | { readonly type: 'ask' }
  | { readonly type: 'here' }
  /** Bytes of a stream have been written to its socket. */
  | { readonly type: 'credit'; readonly stream: string; readonly bytes: number }
  /** So many frames were sent before this message. */
  | { readonly type: 'pulse'; readonly sent: number }
  /** Frames did not arrive. */
  | { readonly type: 'lost' }
  /** Endpoints of the stream repeat what was lost. */
  | { readonly type: 'reliable'; readonly stream: string };

/** Control messages are JSON; no relay frame begins like that, because none has a field 15. */
const BRACE = 0x7b;

export const isControl = (payload: Uint8Array): boolean => payload[0] === BRACE;

export const encodeControl = (message: ControlMessage): Uint8Array => encodeUtf8(JSON.stringify(message));

/** Only nodes of ours write on the bus, so the shape is trusted. */
export const decodeControl = (payload: Uint8Array): ControlMessage => JSON.parse(decodeUtf8(payload)) as ControlMessage;
