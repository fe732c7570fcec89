import { Dict, Failure, List, Range, Tuple, typeName, type Value } from './value.ts';
import { repr } from './value-text.ts';

/** `target[index]`. */
export function itemAt(target: Value, index: Value): Value {
  if (target instanceof Dict) {
    const value = target.get(index);
    if (value === undefined) throw new Failure(`Key \`${repr(index)}\` was not found`);
    return value;
  }
  const items = sequence(target);
  if (items === undefined) {
    const types = `\`${typeName(target)}\` and \`${typeName(index)}\``;
    throw new Failure(`Operation \`[]\` not supported for types ${types}`);
  }
  return items[position(items.length, index)]!;
}

/** `target[index] = value`. */
export function setItem(target: Value, index: Value, value: Value): void {
  if (target instanceof Dict) target.set(index, value);
  else if (target instanceof List) target.splice(position(target.items.length, index), 1, value);
  else throw new Failure('Immutable');
}

type Bounds = readonly [Value | undefined, Value | undefined, Value | undefined];

/** `target[start:stop:step]`. */
export function slice(target: Value, bounds: Bounds): Value {
  const items = sequence(target);
  if (items === undefined) throw new Failure(`Operation \`[::]\` not supported on type \`${typeName(target)}\``);
  if (target instanceof Range) return sliceRange(target, indices(items.length, bounds), whole(bounds[2]) ?? 1);
  const chosen = indices(items.length, bounds).map((at) => items[at]!);
  if (typeof target === 'string') return chosen.join('');
  return target instanceof List ? new List(chosen) : new Tuple(chosen);
}

function indices(length: number, [start, stop, step]: Bounds): number[] {
  const stride = whole(step) ?? 1;
  if (stride === 0) throw new Failure('Slice step cannot be zero');
  const [least, most] = stride > 0 ? [0, length] : [-1, length - 1];
  const bound = (value: Value | undefined, otherwise: number): number => {
    const given = whole(value);
    if (given === undefined) return otherwise;
    return Math.min(Math.max(given < 0 ? given + length : given, least), most);
  };
  const first = bound(start, stride > 0 ? 0 : length - 1);
  const end = bound(stop, stride > 0 ? length : -1);
  return Array.from({ length: Math.max(0, Math.ceil((end - first) / stride)) }, (_, at) => first + at * stride);
}

function sliceRange({ start, step }: Range, [first = 0, ...rest]: readonly number[], stride: number): Range {
  const newStep = step * BigInt(stride);
  const newStart = start + BigInt(first) * step;
  return new Range(newStart, newStart + BigInt(rest.length + 1) * newStep, newStep);
}

function whole(value: Value | undefined): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'bigint') throw notInteger(value);
  return Number(value);
}

/** The position of an index; negative ones count from the end. */
export function position(length: number, index: Value): number {
  if (typeof index !== 'bigint') throw notInteger(index);
  const at = Number(index < 0n ? index + BigInt(length) : index);
  if (at < 0 || at >= length) throw new Failure(`Index \`${index}\` is out of bound`);
  return at;
}

/** The items of a sequence; those of a string are its characters. */
function sequence(value: Value): readonly Value[] | undefined {
  if (typeof value === 'string') return [...value];
  if (value instanceof List || value instanceof Tuple) return value.items;
  return value instanceof Range ? [...value.values()] : undefined;
}

function notInteger(value: Value): Failure {
  return new Failure(`Expected \`int\`, but got \`${typeName(value)} (repr: ${repr(value)})\``);
}
