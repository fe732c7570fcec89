import { Dict, Failure, LARGEST, List, Range, Tuple, type Value } from './value.ts';

/** The value of `str()`: a string itself, `repr()` for other values. */
export function str(value: Value): string {
  return typeof value === 'string' ? value : repr(value);
}

/** A value in the syntax of the language. */
export function repr(value: Value): string {
  return represent(value, []);
}

function represent(value: Value, outer: readonly Value[]): string {
  if (value === null) return 'None';
  switch (typeof value) {
    case 'string':
      return quoted(value);
    case 'boolean':
      return value ? 'True' : 'False';
    case 'bigint':
      return String(value);
    case 'number':
      return float(value);
  }
  if (outer.includes(value)) return '...';
  const inner = (item: Value): string => represent(item, [...outer, value]);
  return limited(collection(value, inner));
}

function collection(
  value: List | Tuple | Dict | Range | { displayName: string },
  inner: (item: Value) => string,
): string {
  if (value instanceof List) return `[${value.items.map(inner).join(', ')}]`;
  if (value instanceof Tuple) return `(${value.items.map(inner).join(', ')}${value.items.length === 1 ? ',' : ''})`;
  if (value instanceof Dict)
    return `{${value
      .entries()
      .map(([key, item]) => `${inner(key)}: ${inner(item)}`)
      .join(', ')}}`;
  if (value instanceof Range) {
    const { start, stop, step } = value;
    if (step !== 1n) return `range(${start}, ${stop}, ${step})`;
    return start === 0n ? `range(${stop})` : `range(${start}, ${stop})`;
  }
  return value.displayName;
}

function limited(text: string): string {
  if (text.length > LARGEST) throw new Failure('String is too large');
  return text;
}

export function float(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? '+inf' : '-inf';
  const text = String(value);
  return /[.e]/.test(text) ? text.replace(/e([-+])(\d)$/, 'e$10$2') : `${text}.0`;
}

function quoted(text: string): string {
  const escaped = (character: string): string => {
    const named = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '"': '\\"', '\\': '\\\\' }[character];
    if (named) return named;
    const code = character.codePointAt(0)!;
    if (code >= 0x20 && code < 0x7f) return character;
    if (code <= 0xff) return `\\x${code.toString(16).padStart(2, '0')}`;
    return code <= 0xffff ? `\\u${code.toString(16).padStart(4, '0')}` : `\\U${code.toString(16).padStart(8, '0')}`;
  };
  return `"${[...text].map(escaped).join('')}"`;
}
