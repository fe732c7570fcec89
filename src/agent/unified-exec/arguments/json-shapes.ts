import { floatText, quoted } from '../../../base/index.ts';
import { isDigit, type JsonCursor } from './json-cursor.ts';

/** Parses a value of one shape, or throws an `ArgumentsError`. */
export type Shape<T> = (cursor: JsonCursor) => T;

export const string: Shape<string> = (cursor) => {
  if (cursor.peekValue() !== '"') throw wrongType(cursor, 'a string');
  return cursor.string();
};

export const boolean: Shape<boolean> = (cursor) => {
  const next = cursor.peekValue();
  if (next !== 't' && next !== 'f') throw wrongType(cursor, 'a boolean');
  cursor.word(next === 't' ? 'true' : 'false');
  return next === 't';
};

/** An integer; `name` is the type in error messages, which sets its limits. */
export function integer(name: 'u64' | 'usize' | 'i32'): Shape<number> {
  const [least, most] = name === 'i32' ? [-(2n ** 31n), 2n ** 31n - 1n] : [0n, U64_MAX];
  return (cursor) => {
    const next = cursor.peekValue();
    if (next !== '-' && !isDigit(next)) throw wrongType(cursor, name);
    const digits = cursor.number();
    const value = integerValue(digits);
    if (value === undefined) {
      const float = Number(digits);
      if (!Number.isFinite(float)) throw cursor.error('number out of range');
      throw cursor.error(`invalid type: floating point \`${floatText(float)}\`, expected ${name}`);
    }
    if (value < least || value > most) throw cursor.error(`invalid value: integer \`${value}\`, expected ${name}`);
    return Number(value);
  };
}

export function nullable<T>(shape: Shape<T>): Shape<T | undefined> {
  return (cursor) => {
    if (cursor.peek() !== 'n') return shape(cursor);
    cursor.word('null');
    return undefined;
  };
}

export function list<T>(element: Shape<T>): Shape<T[]> {
  return (cursor) => {
    if (cursor.peekValue() !== '[') throw wrongType(cursor, 'a sequence');
    cursor.take();
    const values: T[] = [];
    while (hasElement(cursor, values.length === 0)) values.push(element(cursor));
    cursor.take();
    return values;
  };
}

export function oneOf<T extends string>(...variants: readonly T[]): Shape<T> {
  const expected = variants.map((variant) => `\`${variant}\``).join(', ');
  return (cursor) => {
    if (cursor.peekValue() !== '"') throw cursor.nextError('expected value');
    const text = cursor.string();
    const found = variants.find((variant) => variant === text);
    if (found === undefined) throw cursor.error(`unknown variant \`${text}\`, expected one of ${expected}`);
    return found;
  };
}

/** The value of an object with these fields; a field that is left out is undefined. */
export type Fields<F extends Readonly<Record<string, Shape<unknown>>>> = {
  [Name in keyof F]?: F[Name] extends Shape<infer T> ? T : never;
};

/** An object. Members without a shape are parsed by `other`; `name` is the type in error messages. */
export function struct<F extends Readonly<Record<string, Shape<unknown>>>>(
  name: string,
  fields: F,
  required: readonly (keyof F & string)[] = [],
  other: Shape<unknown> = (cursor) => cursor.skip(),
): Shape<Fields<F>> {
  return (cursor) => {
    const next = cursor.peekValue();
    if (next === '[') return fromList(cursor, name, fields);
    if (next !== '{') throw wrongType(cursor, `struct ${name}`);
    cursor.take();
    const values: Record<string, unknown> = {};
    for (let first = true; hasKey(cursor, first); first = false) readMember(cursor, fields, values, other);
    cursor.take();
    const missing = required.find((field) => !Object.hasOwn(values, field));
    if (missing !== undefined) throw cursor.error(`missing field \`${missing}\``);
    return values as Fields<F>;
  };
}

function readMember(
  cursor: JsonCursor,
  fields: Readonly<Record<string, Shape<unknown>>>,
  values: Record<string, unknown>,
  other: Shape<unknown>,
): void {
  const key = cursor.string();
  const shape = Object.hasOwn(fields, key) ? fields[key] : undefined;
  if (shape && Object.hasOwn(values, key)) {
    cursor.peek();
    throw cursor.error(`duplicate field \`${key}\``);
  }
  cursor.colon();
  if (shape) values[key] = shape(cursor);
  else other(cursor);
}

/** The reference also takes a list, whose elements are the fields in order. */
function fromList<F extends Readonly<Record<string, Shape<unknown>>>>(
  cursor: JsonCursor,
  name: string,
  fields: F,
): Fields<F> {
  cursor.take();
  const values: Record<string, unknown> = {};
  const names = Object.keys(fields);
  for (const [index, field] of names.entries()) {
    if (!hasElement(cursor, index === 0)) {
      cursor.take();
      const elements = names.length === 1 ? '1 element' : `${names.length} elements`;
      throw cursor.error(`invalid length ${index}, expected struct ${name} with ${elements}`);
    }
    values[field] = fields[field]!(cursor);
  }
  if (cursor.peek() === ',') cursor.take();
  if (cursor.peek() !== ']') throw cursor.nextError('trailing characters');
  cursor.take();
  return values as Fields<F>;
}

function hasKey(cursor: JsonCursor, first: boolean): boolean {
  let next = cursor.peek();
  if (next === undefined) throw cursor.nextError('EOF while parsing an object');
  if (next === '}') return false;
  if (!first) {
    if (next !== ',') throw cursor.nextError('expected `,` or `}`');
    cursor.take();
    next = cursor.peekValue();
    if (next === '}') throw cursor.nextError('trailing comma');
  }
  if (next !== '"') throw cursor.nextError('key must be a string');
  return true;
}

function hasElement(cursor: JsonCursor, first: boolean): boolean {
  const next = cursor.peek();
  if (next === undefined) throw cursor.nextError('EOF while parsing a list');
  if (next === ']') return false;
  if (first) return true;
  if (next !== ',') throw cursor.nextError('expected `,` or `]`');
  cursor.take();
  if (cursor.peekValue() === ']') throw cursor.nextError('trailing comma');
  return true;
}

/** Takes the value that has the wrong type, as far as its description needs it. */
function wrongType(cursor: JsonCursor, expected: string): Error {
  const found = description(cursor);
  return cursor.error(`invalid type: ${found}, expected ${expected}`);
}

function description(cursor: JsonCursor): string {
  const next = cursor.peekValue();
  if (next === '[') return 'sequence';
  if (next === '{') return 'map';
  if (next === '"') return `string ${quoted(cursor.string())}`;
  if (next === '-' || isDigit(next)) {
    const value = integerValue(cursor.number(), true);
    return value === undefined ? 'number' : `integer \`${value}\``;
  }
  if (next === 'n') {
    cursor.word('null');
    return 'null';
  }
  if (next !== 't' && next !== 'f') throw cursor.nextError('expected value');
  const word = next === 't' ? 'true' : 'false';
  cursor.word(word);
  return `boolean \`${word}\``;
}

/** The value of an integer of 64 bits; undefined for other numbers, and for `-0` unless its sign is ignored. */
function integerValue(digits: string, ignoresSignOfZero = false): bigint | undefined {
  if (!/^-?\d+$/.test(digits) || (digits === '-0' && !ignoresSignOfZero)) return undefined;
  const value = BigInt(digits);
  return value < -(2n ** 63n) || value > U64_MAX ? undefined : value;
}

const U64_MAX = 2n ** 64n - 1n;
