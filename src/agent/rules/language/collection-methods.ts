import type { UnboundMethod } from './methods.ts';
import type { BoundArguments } from './native-function.ts';
import { position } from './subscript.ts';
import { Dict, Failure, isEqual, iterate, List, Tuple, type Value } from './value.ts';
import { repr } from './value-text.ts';

const listMethods: Readonly<Record<string, UnboundMethod<List>>> = {
  append: { parameters: ['/el'], run: (self, { el }) => none(self.splice(self.items.length, 0, el!)) },
  clear: { parameters: [], run: (self) => none(self.splice(0, self.items.length)) },
  extend: {
    parameters: ['/other'],
    run: (self, { other }) => none(self.splice(self.items.length, 0, ...iterate(other!))),
  },
  index: { parameters: ['/needle'], run: (self, { needle }) => BigInt(find(self, needle!)) },
  insert: {
    parameters: ['/index: int', '/el'],
    run: (self, { index, el }) => {
      const at = Number(index as bigint);
      return none(self.splice(at < 0 ? Math.max(0, at + self.items.length) : at, 0, el!));
    },
  },
  pop: {
    parameters: ['/index?: int'],
    run: (self, { index = -1n }) => {
      const at = self.items.length === 0 ? Number.NaN : position(self.items.length, index);
      if (Number.isNaN(at)) throw new Failure(`Index \`${index as bigint}\` is out of bound`);
      return self.splice(at, 1)[0]!;
    },
  },
  remove: { parameters: ['/needle'], run: (self, { needle }) => none(self.splice(find(self, needle!), 1)) },
};

const dictMethods: Readonly<Record<string, UnboundMethod<Dict>>> = {
  clear: { parameters: [], run: (self) => none(self.clear()) },
  get: { parameters: ['/key', '/default?'], run: (self, given) => found(self, given) ?? null },
  items: { parameters: [], run: (self) => new List(self.entries().map((entry) => new Tuple(entry))) },
  keys: { parameters: [], run: (self) => new List(self.keys()) },
  pop: {
    parameters: ['/key', '/default?'],
    run: (self, given) => {
      const value = found(self, given);
      if (value === undefined) throw new Failure(`Key \`${repr(given.key!)}\` was not found`);
      self.delete(given.key!);
      return value;
    },
  },
  popitem: {
    parameters: [],
    run: (self) => {
      const first = self.entries()[0];
      if (!first) throw new Failure('Cannot .popitem() on an empty dictionary');
      self.delete(first[0]);
      return new Tuple(first);
    },
  },
  setdefault: {
    parameters: ['/key', '/default?'],
    run: (self, { key, default: otherwise = null }) => {
      if (!self.has(key!)) self.set(key!, otherwise);
      return self.get(key!)!;
    },
  },
  update: {
    parameters: ['/pairs?', '**kwargs'],
    run: (self, { pairs }, { named }) => {
      const given = pairs instanceof Dict ? pairs.entries() : pairs ? [...iterate(pairs)].map(pairOf) : [];
      for (const [key, value] of [...given, ...named]) self.set(key, value);
      return null;
    },
  },
  values: { parameters: [], run: (self) => new List(self.values()) },
};

export const collectionMethods = { list: listMethods, dict: dictMethods };

/** The value of a key, or the default of the call. */
function found(dict: Dict, { key, default: otherwise }: BoundArguments): Value | undefined {
  return dict.has(key!) ? dict.get(key!) : otherwise;
}

/** The value of a method that returns None. */
function none(_: unknown): null {
  return null;
}

function find(list: List, needle: Value): number {
  const at = list.items.findIndex((item) => isEqual(item, needle));
  if (at < 0) throw new Failure(`Element '${repr(needle)}' not found in '${repr(list)}'`);
  return at;
}

function pairOf(value: Value): readonly [Value, Value] {
  const [key, item, ...rest] = iterate(value);
  if (item === undefined || rest.length > 0) throw new Failure('dict.update expect a list of pairs or a dictionary');
  return [key!, item];
}
