/** An error of a rules program without a position; the interpreter adds that. */
export class Failure extends Error {
  override readonly name = 'Failure';
}

/** `bigint` is the language's int, `number` its float, `null` its None. */
export type Value = null | boolean | bigint | number | string | List | Tuple | Dict | Range | Callable;

export interface Callable {
  readonly kind: 'function';
  readonly displayName: string;
}

/** The largest length of strings and lists, so that a few lines cannot fill the memory. */
export const LARGEST = 4_000_000;

/** A collection that cannot be changed while a loop iterates over it. */
abstract class MutableCollection {
  #readers = 0;

  /** Forbids changes until `release` is called. */
  hold(): void {
    this.#readers += 1;
  }

  release(): void {
    this.#readers -= 1;
  }

  protected requireUnheld(): void {
    if (this.#readers > 0) throw new Failure('This operation mutates an iterable for an iterator while iterating.');
  }
}

export class List extends MutableCollection {
  readonly #items: Value[];

  constructor(items: readonly Value[]) {
    super();
    this.#items = [...items];
  }

  get items(): readonly Value[] {
    return this.#items;
  }

  splice(start: number, removed: number, ...added: readonly Value[]): Value[] {
    this.requireUnheld();
    if (this.#items.length + added.length > LARGEST) throw new Failure('List is too large');
    return this.#items.splice(start, removed, ...added);
  }
}

export class Tuple {
  readonly items: readonly Value[];

  constructor(items: readonly Value[]) {
    this.items = items;
  }
}

export class Range {
  readonly start: bigint;
  readonly stop: bigint;
  readonly step: bigint;

  constructor(start: bigint, stop: bigint, step: bigint) {
    this.start = start;
    this.stop = stop;
    this.step = step;
  }

  get length(): bigint {
    const distance = this.step > 0n ? this.stop - this.start : this.start - this.stop;
    const stride = this.step > 0n ? this.step : -this.step;
    return distance <= 0n ? 0n : (distance + stride - 1n) / stride;
  }

  *values(): Generator<bigint> {
    const isBefore = (value: bigint): boolean => (this.step > 0n ? value < this.stop : value > this.stop);
    for (let value = this.start; isBefore(value); value += this.step) yield value;
  }
}

export class Dict extends MutableCollection {
  readonly #entries = new Map<unknown, readonly [Value, Value]>();

  static of(entries: Iterable<readonly [Value, Value]>): Dict {
    const dict = new Dict();
    for (const [key, value] of entries) dict.set(key, value);
    return dict;
  }

  get size(): number {
    return this.#entries.size;
  }

  has(key: Value): boolean {
    return this.#entries.has(identity(key));
  }

  get(key: Value): Value | undefined {
    return this.#entries.get(identity(key))?.[1];
  }

  set(key: Value, value: Value): void {
    this.requireUnheld();
    const id = identity(key);
    this.#entries.set(id, [this.#entries.get(id)?.[0] ?? key, value]);
  }

  delete(key: Value): void {
    this.requireUnheld();
    this.#entries.delete(identity(key));
  }

  clear(): void {
    this.requireUnheld();
    this.#entries.clear();
  }

  entries(): (readonly [Value, Value])[] {
    return [...this.#entries.values()];
  }

  keys(): Value[] {
    return this.entries().map(([key]) => key);
  }

  values(): Value[] {
    return this.entries().map(([, value]) => value);
  }
}

/** A map key that is equal for equal values; 1 and 1.0 are equal. */
function identity(key: Value): unknown {
  if (typeof key === 'string') return `s${key}`;
  if (typeof key === 'bigint' || typeof key === 'number') return `n${key}`;
  if (key instanceof Tuple) return `t${JSON.stringify(key.items.map(identity))}`;
  if (key instanceof List || key instanceof Dict)
    throw new Failure(`Value of type \`${typeName(key)}\` is not hashable`);
  return key;
}

export function typeName(value: Value): string {
  if (value === null) return 'NoneType';
  if (value instanceof List) return 'list';
  if (value instanceof Tuple) return 'tuple';
  if (value instanceof Dict) return 'dict';
  if (value instanceof Range) return 'range';
  return { boolean: 'bool', bigint: 'int', number: 'float', string: 'string' }[typeof value as string] ?? 'function';
}

export function isTrue(value: Value): boolean {
  if (value instanceof List || value instanceof Tuple) return value.items.length > 0;
  if (value instanceof Dict) return value.size > 0;
  if (value instanceof Range) return value.length > 0n;
  return typeof value === 'object' && value !== null ? true : Boolean(value);
}

export function isEqual(left: Value, right: Value): boolean {
  if ((left instanceof List && right instanceof List) || (left instanceof Tuple && right instanceof Tuple)) {
    return left.items.length === right.items.length && left.items.every((item, at) => isEqual(item, right.items[at]!));
  }
  if (left instanceof Dict && right instanceof Dict) {
    const hasSame = ([key, value]: readonly [Value, Value]) => right.has(key) && isEqual(value, right.get(key)!);
    return left.size === right.size && left.entries().every(hasSame);
  }
  if (left instanceof Range && right instanceof Range) {
    return left.length === right.length && [...left.values()].join() === [...right.values()].join();
  }
  const areNumbers = [left, right].every((value) => typeof value === 'bigint' || typeof value === 'number');
  // biome-ignore lint/suspicious/noDoubleEquals: 1n == 1 is what the language means
  return areNumbers ? left == right : left === right;
}

/** The items that a loop iterates over. */
export function iterate(value: Value): Iterable<Value> {
  if (value instanceof List || value instanceof Tuple) return value.items;
  if (value instanceof Dict) return value.keys();
  if (value instanceof Range) return value.values();
  throw new Failure(`Operation \`(iter)\` not supported on type \`${typeName(value)}\``);
}
