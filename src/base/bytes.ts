// The only file of the browser folders that uses `Buffer`: where it exists it is several times faster than the portable code.
const native = typeof Buffer === 'undefined' ? undefined : Buffer;

const encoder = new TextEncoder();
const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const asBuffer = (bytes: Uint8Array): Buffer =>
  bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** UTF-8 bytes of a text. */
export function encodeUtf8(text: string): Uint8Array {
  return native ? native.from(text, 'utf8') : encoder.encode(text);
}

/** The text of UTF-8 bytes; throws on bytes that are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string {
  if (!native) return strictDecoder.decode(bytes);
  const text = asBuffer(bytes).toString('utf8');
  return text.includes('\ufffd') ? strictDecoder.decode(bytes) : text;
}

/** One character per byte; for text known to be ASCII. */
export function decodeLatin1(bytes: Uint8Array, start = 0, end = bytes.length): string {
  if (native) return asBuffer(bytes).toString('latin1', start, end);
  let text = '';
  for (let at = start; at < end; at += 8192)
    text += String.fromCharCode(...bytes.subarray(at, Math.min(at + 8192, end)));
  return text;
}

/** Position of an ASCII text in bytes, or -1. */
export function indexOfAscii(bytes: Uint8Array, text: string, from = 0): number {
  if (native) return asBuffer(bytes).indexOf(text, from, 'latin1');
  const wanted = encoder.encode(text);
  for (let at = bytes.indexOf(wanted[0]!, from); at >= 0; at = bytes.indexOf(wanted[0]!, at + 1)) {
    if (wanted.every((byte, offset) => bytes[at + offset] === byte)) return at;
  }
  return -1;
}

export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  if (native) return native.concat(parts);
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Standard base64 with padding. */
export function encodeBase64(bytes: Uint8Array): string {
  if (native) return asBuffer(bytes).toString('base64');
  return btoa(decodeLatin1(bytes));
}

/** Decodes standard base64 and refuses everything else: other alphabets, missing padding, stray bits. */
export function decodeBase64(text: string): Uint8Array {
  const bytes = native ? native.from(text, 'base64') : decodePortable(text);
  // Lenient decoders skip foreign characters, which the length of the result shows, except in the last group.
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  if (text.length % 4 !== 0 || bytes.length !== (text.length / 4) * 3 - padding) throw base64Error(text);
  if (
    text.includes('-') ||
    text.includes('_') ||
    WIDE.test(text) ||
    (padding > 0 && encodeBase64(bytes.subarray(-(3 - padding))) !== text.slice(-4))
  ) {
    throw base64Error(text);
  }
  return bytes;
}

/** Node decodes only the low byte of a character wider than a byte. */
const WIDE = /[\u0100-\uffff]/;

function decodePortable(text: string): Uint8Array {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    throw base64Error(text); // the error of `atob` does not name the character
  }
}

/** The first fault of a text, in the order and with the message of the reference's decoder. */
function base64Error(text: string): Error {
  const bytes = encodeUtf8(text);
  const symbol = (at: number): Error => new Error(`Invalid symbol ${bytes[at]}, offset ${at}.`);
  const lastGroup = bytes.length - (bytes.length % 4 || 4);
  const foreign = bytes.findIndex((byte, at) => !isSymbol(byte) && (byte !== PAD || at < lastGroup));
  const alone = bytes.length - 1;
  if (bytes.length % 4 === 1 && bytes[alone] !== PAD && !isSymbol(bytes[alone]!)) return symbol(alone);
  if (foreign !== -1 && foreign < lastGroup) return symbol(foreign);
  const group = bytes.subarray(lastGroup);
  const pad = group.indexOf(PAD);
  const isMisplaced = pad !== -1 && (pad < 2 || group.subarray(pad).some((byte) => byte !== PAD));
  if (isMisplaced && (foreign === -1 || lastGroup + pad < foreign)) return symbol(lastGroup + pad);
  if (foreign !== -1) return symbol(foreign);
  if (group.length === 1) return new Error(`Invalid input length: ${bytes.length}`);
  if (group.length < 4) return new Error('Invalid padding');
  const last = lastGroup + (pad === -1 ? 4 : pad) - 1;
  return new Error(`Invalid last symbol ${bytes[last]}, offset ${last}.`);
}

const PAD = 0x3d;

const isSymbol = (byte: number): boolean => /[A-Za-z0-9+/]/.test(String.fromCharCode(byte));
