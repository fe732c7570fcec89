/**
 * The text of a path, for comparing and joining. A byte that is not UTF-8 becomes a lone surrogate, U+DC80 to U+DCFF, which no
 * valid text contains.
 */
export function pathText(bytes: Uint8Array): string {
  const text = decoder.decode(bytes);
  if (!text.includes('\ufffd') || Buffer.from(text).equals(bytes)) return text;
  return [...validParts(bytes)].join('');
}

/** The bytes of a text from `pathText`. */
export function pathBytes(text: string): Buffer {
  if (!SURROGATE_ESCAPE.test(text)) return Buffer.from(text);
  const parts = text.split(/([\udc80-\udcff])/u);
  return Buffer.concat(
    parts.map((part, at) => (at % 2 === 1 ? Buffer.of(part.charCodeAt(0) & 0xff) : Buffer.from(part))),
  );
}

/** With `u`, the halves of a surrogate pair do not match. */
const SURROGATE_ESCAPE = /[\udc80-\udcff]/u;

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const strict = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true });

/** One character after the other: sequences of at most four bytes, and single bytes that are not part of one. */
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
