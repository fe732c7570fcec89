/**
 * Paths are text wherever they are compared or joined. A byte of a name that is no UTF-8 is kept in it as a lone surrogate,
 * U+DC80 to U+DCFF, which no valid name has.
 */
export function pathText(bytes: Uint8Array): string {
  const text = decoder.decode(bytes);
  if (!text.includes('\ufffd') || Buffer.from(text).equals(bytes)) return text;
  return [...validParts(bytes)].join('');
}

/** The bytes of such a text. */
export function pathBytes(text: string): Buffer {
  if (!SURROGATE_ESCAPE.test(text)) return Buffer.from(text);
  const parts = text.split(/([\udc80-\udcff])/u);
  return Buffer.concat(
    parts.map((part, at) => (at % 2 === 1 ? Buffer.of(part.charCodeAt(0) & 0xff) : Buffer.from(part))),
  );
}

/** With `u`, halves of a pair are no match. */
const SURROGATE_ESCAPE = /[\udc80-\udcff]/u;

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const strict = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true });

/** Character by character: sequences of at most four bytes, and single bytes that belong to none. */
function* validParts(bytes: Uint8Array): Generator<string> {
  for (let at = 0; at < bytes.length; ) {
    const length = [1, 2, 3, 4].find((count) => at + count <= bytes.length && isText(bytes.subarray(at, at + count)));
    yield length === undefined
      ? String.fromCharCode(0xdc00 + bytes[at]!)
      : strict.decode(bytes.subarray(at, at + length));
    at += length ?? 1;
  }
}

function isText(bytes: Uint8Array): boolean {
  try {
    strict.decode(bytes);
    return true;
  } catch {
    return false; // not UTF-8
  }
}
