const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Decodes UTF-8; each invalid sequence becomes U+FFFD. */
export const lossyText = (bytes: Uint8Array): string => decoder.decode(bytes);

/** How many bytes at the end are the beginning of a character whose rest may still come. */
export function incompleteTail(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if ((byte & 0xc0) === 0x80) continue;
    return charLength(byte) > back ? back : 0;
  }
  return 0;
}

/** The largest position up to `limit` that does not lie within a character. */
export function boundaryBefore(bytes: Uint8Array, limit: number): number {
  if (limit >= bytes.length) return bytes.length;
  let at = limit;
  while (at > 0 && limit - at < 3 && (bytes[at]! & 0xc0) === 0x80) at--;
  return (bytes[at]! & 0xc0) === 0x80 ? limit : at;
}

/** The smallest position from `limit` on that does not lie within a character. */
export function boundaryAfter(bytes: Uint8Array, limit: number): number {
  let at = Math.max(0, limit);
  while (at < bytes.length && (bytes[at]! & 0xc0) === 0x80) at++;
  return at;
}

function charLength(lead: number): number {
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  if (lead >= 0xe0) return lead <= 0xef ? 3 : 1;
  return lead >= 0xc2 ? 2 : 1;
}
