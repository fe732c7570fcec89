const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/** The position of the first value above the limit, with lines and columns counted as by the reference. */
export interface Excess {
  readonly line: number;
  readonly column: number;
}

/**
 * Counts the values of a JSON text from its bytes, so that a text with too many is refused before it is parsed. Stops at the first
 * value above the limit; member names are not values. The text need not be valid.
 */
export function excessOfValues(bytes: Uint8Array, limit: number): Excess | undefined {
  if (bytes.length < 2 * limit) return undefined; // every value but the last has at least one byte behind it
  let values = 0;
  for (let at = 0; at < bytes.length; at++) {
    const start = at;
    const code = bytes[at]!;
    if (isSeparator(code)) continue;
    if (code === QUOTE) {
      at = closingQuote(bytes, at);
      if (bytes[nextToken(bytes, at + 1)] === COLON) continue;
    } else if (!isOpening(code)) {
      while (at + 1 < bytes.length && !isDelimiter(bytes[at + 1]!)) at++;
    }
    if (++values > limit) return positionOf(bytes, start);
  }
  return undefined;
}

/** White space, and the characters between and after values. */
const isSeparator = (code: number): boolean =>
  code <= 0x20 || code === 0x2c || code === COLON || code === 0x5d || code === 0x7d;

const isOpening = (code: number): boolean => code === 0x5b || code === 0x7b;

const isDelimiter = (code: number): boolean => isSeparator(code) || isOpening(code) || code === QUOTE;

function nextToken(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at]! <= 0x20) at++;
  return at;
}

/** The end of the string that begins at a quote, or of the text. */
function closingQuote(bytes: Uint8Array, opening: number): number {
  const first = bytes.indexOf(QUOTE, opening + 1);
  if (first < 0) return bytes.length;
  if (bytes[first - 1] !== BACKSLASH) return first;
  for (let at = opening + 1; at < bytes.length; at++) {
    if (bytes[at] === QUOTE) return at;
    if (bytes[at] === BACKSLASH) at++;
  }
  return bytes.length;
}

function positionOf(bytes: Uint8Array, offset: number): Excess {
  let line = 1;
  let lineStart = 0;
  for (let at = bytes.indexOf(0x0a); at >= 0 && at < offset; at = bytes.indexOf(0x0a, at + 1)) {
    line++;
    lineStart = at + 1;
  }
  return { line, column: offset - lineStart };
}
