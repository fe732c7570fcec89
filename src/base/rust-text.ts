/** A string as Rust's debug format prints it, which is how the reference shows strings in its messages. */
export function quoted(text: string): string {
  return `"${text.replace(/["\\]|\p{C}|\p{Zl}|\p{Zp}|(?! )\p{Zs}|\p{Grapheme_Extend}/gu, escaped)}"`;
}

function escaped(char: string): string {
  return short[char] ?? `\\u{${char.codePointAt(0)!.toString(16)}}`;
}

const short: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\0': '\\0',
};

/** A floating-point number as Rust's debug format prints it. */
export function floatText(value: number): string {
  const size = Math.abs(value);
  if (Object.is(value, -0)) return '-0.0';
  if (size !== 0 && (size >= 1e16 || size < 1e-5)) return value.toExponential();
  return Number.isInteger(value) ? `${value}.0` : String(value);
}
