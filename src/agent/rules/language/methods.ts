import { collectionMethods } from './collection-methods.ts';
import { type Arguments, type Caller, type Given, NativeFunction } from './native-function.ts';
import { stringMethods } from './string-methods.ts';
import { typeName, type Value } from './value.ts';

/** A method before it is bound to the value it acts on. */
export interface Method<T> {
  readonly parameters: readonly string[];
  readonly run: (self: T, given: Given, args: Arguments, caller: Caller) => Value;
}

type MethodTable = Readonly<Record<string, Method<never>>>;

const tables: Readonly<Record<string, MethodTable>> = { string: stringMethods, ...collectionMethods };

/** The method of that name, bound to the value; nothing if values of its type have none. */
export function methodOf(value: Value, name: string): NativeFunction | undefined {
  const table = tables[typeName(value)];
  if (!table || !Object.hasOwn(table, name)) return undefined;
  const { parameters, run } = table[name]!;
  return new NativeFunction(name, parameters, (given, caller, args) => run(value as never, given, args, caller));
}

export function methodNames(value: Value): string[] {
  return Object.keys(tables[typeName(value)] ?? {}).sort();
}
