import { methodNames, methodOf } from './methods.ts';
import { NativeFunction, typeMismatch } from './native-function.ts';
import { compare } from './operators.ts';
import { Dict, Failure, isTrue, iterate, LARGEST, List, Range, Tuple, typeName, type Value } from './value.ts';
import { repr, str } from './value-text.ts';

const optionalInt = (value: Value | undefined, otherwise: bigint): bigint => (value as bigint | undefined) ?? otherwise;

function items(value: Value | undefined): Value[] {
  if (value === undefined) return [];
  if (value instanceof Range && value.length > BigInt(LARGEST)) throw new Failure('Value is too large');
  return [...iterate(value)];
}

/** The value of `len()`. */
export function length(value: Value): number {
  if (typeof value === 'string') return [...value].length;
  if (value instanceof List || value instanceof Tuple) return value.items.length;
  if (value instanceof Dict) return value.size;
  if (value instanceof Range) return Number(value.length);
  throw new Failure(`Operation \`len()\` not supported on type \`${typeName(value)}\``);
}

function extreme(name: string, sign: 1 | -1): NativeFunction {
  return new NativeFunction(name, ['*args', '=key?'], ({ key }, caller, { positional }) => {
    const values = positional.length === 1 ? items(positional[0]) : positional;
    if (values.length === 0) throw new Failure('Argument is an empty iterable, max() expect a non empty iterable');
    const rank = (value: Value): Value => (key === undefined || key === null ? value : caller(key, value));
    return values.reduce((best, value) => (compare(rank(value), rank(best)) * sign > 0 ? value : best));
  });
}

function parseInteger(text: string, base: bigint): bigint {
  const [, sign = '', prefix = '', digits = ''] = /^([-+]?)(0[xXoObB])?(.*)$/s.exec(text)!;
  const ofPrefix = { '0x': 16, '0o': 8, '0b': 2 }[prefix.toLowerCase()];
  const radix = base === 0n ? (ofPrefix ?? 10) : Number(base);
  const body = ofPrefix === radix ? digits : prefix + digits;
  const isDigits = body !== '' && [...body.toLowerCase()].every((digit) => Number.parseInt(digit, 36) < radix);
  if (!isDigits) throw new Failure(`Cannot parse \`${text}\` as an integer in base ${radix}`);
  const value = [...body].reduce((sum, digit) => sum * BigInt(radix) + BigInt(Number.parseInt(digit, 36)), 0n);
  return sign === '-' ? -value : value;
}

function toInteger(value: Value, base: Value | undefined): bigint {
  if (typeof value === 'string') return parseInteger(value, optionalInt(base, 10n));
  if (base !== undefined) throw new Failure('int() cannot convert non-string with explicit base');
  if (typeof value === 'bigint') return value;
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (typeof value === 'number' && Number.isFinite(value)) return BigInt(Math.trunc(value));
  throw typeMismatch('a', 'bool | float | int | str', value);
}

function toFloat(value: Value): number {
  const number = typeof value === 'string' && value.trim() === '' ? Number.NaN : Number(value as string);
  if (typeof value === 'object' || (typeof value === 'string' && Number.isNaN(number))) {
    throw new Failure(`${repr(value)} is not a valid number: invalid float literal`);
  }
  return number;
}

function makeRange(a: bigint, b: bigint | undefined, step: bigint): Range {
  if (step === 0n) throw new Failure('Third argument of range (step) cannot be zero');
  return b === undefined ? new Range(0n, a, step) : new Range(a, b, step);
}

function toDict(pairs: Value | undefined, named: ReadonlyMap<string, Value>): Dict {
  const entries = pairs instanceof Dict ? pairs.entries() : items(pairs).map(pair);
  return Dict.of([...entries, ...named]);
}

function pair(value: Value): readonly [Value, Value] {
  const both = items(value);
  if (both.length !== 2)
    throw new Failure(`Found a non-pair element in the positional argument of dict(): ${repr(value)}`);
  return [both[0]!, both[1]!];
}

const functions = [
  new NativeFunction('abs', ['/x'], ({ x }) => ((x as bigint) < 0 ? -(x as bigint) : x!)),
  new NativeFunction('all', ['/x'], ({ x }) => items(x).every(isTrue)),
  new NativeFunction('any', ['/x'], ({ x }) => items(x).some(isTrue)),
  new NativeFunction('bool', ['/x?'], ({ x }) => x !== undefined && isTrue(x)),
  new NativeFunction('chr', ['/i: int'], ({ i }) => {
    const code = Number(i as bigint);
    if (code < 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
      throw new Failure(`chr() parameter value is 0x${code.toString(16)} which is not a valid UTF-8 codepoint`);
    }
    return String.fromCodePoint(code);
  }),
  new NativeFunction('dict', ['/args?', '**kwargs'], ({ args }, _, { named }) => toDict(args, named)),
  new NativeFunction('dir', ['/x'], ({ x }) => new List(methodNames(x!))),
  new NativeFunction('enumerate', ['/it', 'start?: int'], ({ it, start }) => {
    return new List(items(it).map((item, at) => new Tuple([BigInt(at) + optionalInt(start, 0n), item])));
  }),
  new NativeFunction('fail', ['*args'], (_, __, { positional }) => {
    throw new Failure(`fail: ${positional.map(str).join(' ')}`);
  }),
  new NativeFunction('float', ['/a?'], ({ a }) => (a === undefined ? 0 : toFloat(a))),
  new NativeFunction('getattr', ['/a', '/attr: str', '/default?'], ({ a, attr, default: otherwise }) => {
    const found = methodOf(a!, attr as string) ?? otherwise;
    if (found === undefined)
      throw new Failure(`Operation \`.${attr as string}\` not supported on type \`${typeName(a!)}\``);
    return found;
  }),
  new NativeFunction('hasattr', ['/a', '/attr: str'], ({ a, attr }) => methodOf(a!, attr as string) !== undefined),
  new NativeFunction('hash', ['/a: str'], ({ a }) => {
    return BigInt([...(a as string)].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) | 0, 0));
  }),
  new NativeFunction('int', ['/a?', 'base?: int'], ({ a, base }) => (a === undefined ? 0n : toInteger(a, base))),
  new NativeFunction('len', ['/a'], ({ a }) => BigInt(length(a!))),
  new NativeFunction('list', ['/a?'], ({ a }) => new List(items(a))),
  extreme('max', 1),
  extreme('min', -1),
  new NativeFunction('ord', ['/a: str'], ({ a }) => {
    const characters = [...(a as string)];
    if (characters.length !== 1) throw new Failure(`ord(): ${repr(a!)} is not a single character string`);
    return BigInt(characters[0]!.codePointAt(0)!);
  }),
  new NativeFunction('range', ['/a1: int', '/a2?: int', '/step?: int'], ({ a1, a2, step }) => {
    return makeRange(a1 as bigint, a2 as bigint | undefined, optionalInt(step, 1n));
  }),
  new NativeFunction('repr', ['/a'], ({ a }) => repr(a!)),
  new NativeFunction('reversed', ['/a'], ({ a }) => new List(items(a).reverse())),
  new NativeFunction('sorted', ['/x', '=key?', '=reverse?: bool'], ({ x, key, reverse }, caller) => {
    const rank = (value: Value): Value => (key === undefined || key === null ? value : caller(key, value));
    const ranked = items(x).map((value) => ({ value, rank: rank(value) }));
    const sign = reverse === true ? -1 : 1;
    return new List(ranked.sort((left, right) => sign * compare(left.rank, right.rank)).map(({ value }) => value));
  }),
  new NativeFunction('str', ['/a'], ({ a }) => str(a!)),
  new NativeFunction('tuple', ['/a?'], ({ a }) => new Tuple(items(a))),
  new NativeFunction('type', ['/a'], ({ a }) => typeName(a!)),
  new NativeFunction('zip', ['*args'], (_, __, { positional }) => {
    const columns = positional.map(items);
    const rows = columns.length === 0 ? 0 : Math.min(...columns.map((column) => column.length));
    return new List(Array.from({ length: rows }, (_row, at) => new Tuple(columns.map((column) => column[at]!))));
  }),
];

/** The names that every program has. */
export const builtins: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['False', false],
  ['None', null],
  ['True', true],
  ...functions.map((one) => [one.displayName, one] as const),
]);
