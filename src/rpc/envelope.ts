import { decodeBase64, decodeLatin1, decodeUtf8, indexOfAscii } from '../base/index.ts';
import { limits, type WireError } from '../protocol/index.ts';
import { closingQuote, duplicateKey, hasLoneSurrogate, replaceFloats, topLevelToken } from './json-tokens.ts';
import { excessOfValues } from './value-limit.ts';

/** The JSON text of an id, kept as written: integers of 64 bits do not survive a JavaScript number. */
export type RequestId = string;

export type Message =
  | { readonly type: 'request'; readonly id: RequestId; readonly method: string; readonly params: unknown }
  | { readonly type: 'notification'; readonly method: string; readonly params: unknown }
  | { readonly type: 'result'; readonly id: RequestId; readonly result: unknown }
  | { readonly type: 'error'; readonly id: RequestId; readonly error: WireError };

/** The text is not a JSON-RPC message; the error text is sent to the peer. */
export class MalformedMessage extends Error {}

/** Decodes strict base64 from a part of a message, and throws on any other text. The message is not read afterwards. */
export type PayloadDecoder = (bytes: Uint8Array, start: number, end: number) => Uint8Array;

export function parseMessage(bytes: Uint8Array, decodePayload: PayloadDecoder = decodePortable): Message {
  checkValueLimit(bytes);
  return classify(bytes.length < BULK_BYTES ? parse(textOf(bytes)) : parseBulk(bytes, decodePayload));
}

function checkValueLimit(bytes: Uint8Array): void {
  const excess = excessOfValues(bytes, limits.valuesPerMessage);
  if (!excess) return;
  const { line, column } = excess;
  const limit = `the limit of ${limits.valuesPerMessage} JSON values`;
  throw new MalformedMessage(`JSON-RPC message exceeds ${limit} at line ${line} column ${column}`);
}

const decodePortable: PayloadDecoder = (bytes, start, end) => decodeBase64(decodeLatin1(bytes, start, end));

interface Parsed {
  readonly text: string;
  readonly value: unknown;
  /** Whether a number is written with a point or exponent; integers of the protocol must not be. */
  readonly floats: boolean;
}

/** In shorter messages, searching for a payload costs more than it saves. */
const BULK_BYTES = 4096;
/** Payloads that begin later in the message are parsed as text; clients put them before this. */
const BULK_SEARCH_BYTES = 65_536;
const payloadKeys = ['chunk', 'dataBase64', 'deltaBase64', 'bodyBase64'] as const;
/** Replaces the payload while the rest is parsed. Random, so that no peer can send it. */
const PLACEHOLDER = `cut-${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}`;

/**
 * Parses a large message without making a string of its payload: the base64 text is cut out and decoded from the bytes,
 * and the rest is parsed as JSON. A message without such a payload is parsed whole.
 */
function parseBulk(bytes: Uint8Array, decodePayload: PayloadDecoder): Parsed {
  const head = bytes.subarray(0, BULK_SEARCH_BYTES);
  for (const key of payloadKeys) {
    const opening = `"${key}":"`;
    const at = indexOfAscii(head, opening);
    // After a backslash the quote is a character inside a longer key.
    if (at < 1 || bytes[at - 1] === BACKSLASH) continue;
    const start = at + opening.length;
    const end = bytes.indexOf(QUOTE, start);
    if (end < 0 || bytes[end - 1] === BACKSLASH) break; // base64 contains no quote: not a payload
    const rest = parse(`${textOf(bytes.subarray(0, start))}${PLACEHOLDER}${textOf(bytes.subarray(end))}`);
    const holder = payloadHolder(rest.value, key);
    if (!holder || rest.floats) break; // numbers in float notation are replaced in the whole text
    try {
      holder[key] = decodePayload(bytes, start, end);
      return rest;
    } catch {
      break; // not base64: the schema reports it
    }
  }
  return parse(textOf(bytes));
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

function payloadHolder(value: unknown, key: string): Record<string, unknown> | undefined {
  const { params, result } = (value ?? {}) as Record<string, Record<string, unknown> | null>;
  return [params, result].find((holder) => holder?.[key] === PLACEHOLDER) ?? undefined;
}

function textOf(bytes: Uint8Array): string {
  try {
    return decodeUtf8(bytes);
  } catch {
    throw new MalformedMessage('the message is not UTF-8');
  }
}

function parse(text: string): Parsed {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new MalformedMessage((error as SyntaxError).message);
  }
  const { members, floats } = inspect(text);
  if (hasLoneSurrogate(text, value)) throw new MalformedMessage('lone surrogate in a string');
  // JSON.parse keeps one of several members with the same name: then there are more colons than members.
  if (countMembers(value) !== members)
    throw new MalformedMessage(`duplicate JSON object key \`${duplicateKey(text)}\``);
  return { text, value, floats };
}

/** Counts the colons outside strings, and finds out whether there are numbers in float notation. */
function inspect(text: string): { members: number; floats: boolean } {
  let members = 0;
  let floats = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = closingQuote(text, at);
    else if (code === 0x3a) members++;
    else if (code === 0x2e || ((code | 0x20) === 0x65 && isDigit(text.charCodeAt(at - 1)))) floats = true;
  }
  return { members, floats };
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

function countMembers(root: unknown): number {
  let members = 0;
  const open: unknown[] = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) continue;
    const inner = Array.isArray(value) ? value : Object.values(value);
    if (inner !== value) members += inner.length;
    for (const item of inner) open.push(item);
  }
  return members;
}

function classify(parsed: Parsed): Message {
  const { value } = parsed;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new MalformedMessage('expected a JSON-RPC object');
  }
  const message = value as Record<string, unknown>;
  if ('method' in message) {
    const { method, params } = message;
    if (typeof method !== 'string') throw new MalformedMessage(`invalid type: ${typeof method}, expected a string`);
    if (!('id' in message)) return { type: 'notification', method, params };
    checkTrace(message.trace);
    return { type: 'request', id: requestId(parsed, message.id), method, params: strictNumbers(parsed, params) };
  }
  if ('result' in message) return { type: 'result', id: requestId(parsed, message.id), result: message.result };
  const error = wireError(message.error);
  return { type: 'error', id: requestId(parsed, message.id), error };
}

function requestId(parsed: Parsed, id: unknown): RequestId {
  if (typeof id === 'string') return JSON.stringify(id);
  if (Number.isSafeInteger(id) && !parsed.floats) return String(id);
  const token = typeof id === 'number' ? topLevelToken(parsed.text, 'id') : undefined;
  if (token && /^-?\d{1,19}$/.test(token) && BigInt.asIntN(64, BigInt(token)) === BigInt(token)) return token;
  throw new MalformedMessage('data did not match any variant of untagged enum RequestId');
}

/** JSON.parse reads `1.0` as an integer. No number of the protocol is a fraction, so every float becomes one, and is refused. */
function strictNumbers(parsed: Parsed, params: unknown): unknown {
  if (!parsed.floats) return params;
  const marked = replaceFloats(parsed.text, '0.5');
  return (JSON.parse(marked) as { params?: unknown }).params;
}

function checkTrace(trace: unknown): void {
  if (trace === undefined || trace === null) return;
  const { traceparent, tracestate } = Object(trace) as Record<string, unknown>;
  const texts = [traceparent, tracestate].every(
    (field) => field === undefined || field === null || typeof field === 'string',
  );
  if (typeof trace !== 'object' || Array.isArray(trace) || !texts) {
    throw new MalformedMessage('invalid type of trace, expected {traceparent?, tracestate?}');
  }
}

function wireError(error: unknown): WireError {
  if (typeof error !== 'object' || error === null) throw new MalformedMessage('missing field `error`');
  const { code, message, data } = error as Partial<WireError>;
  if (typeof code !== 'number') throw new MalformedMessage('missing field `code`');
  if (typeof message !== 'string') throw new MalformedMessage('missing field `message`');
  return { code, message, ...(typeof data === 'object' && data !== null && { data }) };
}
