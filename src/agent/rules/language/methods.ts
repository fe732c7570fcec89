import { collectionMethods } from './collection-methods.ts';
import { type Arguments, type BoundArguments, type CallFunction, NativeFunction } from './native-function.ts';
import { stringMethods } from './string-methods.ts';
import { typeName, type Value } from './value.ts';

/** A method that is not bound to a value. */
export interface UnboundMethod<T> {
  readonly parameters: readonly string[];
  readonly run: (self: T, given: BoundArguments, args: Arguments, caller: CallFunction) => Value;
}

type MethodTable = Readonly<Record<string, UnboundMethod<never>>>;

const tables: Readonly<Record<string, MethodTable>> = { string: stringMethods, ...collectionMethods };

/** The method with a name, bound to the value; undefined where the type of the value has none. */
export function methodOf(value: Value, name: string): NativeFunction | undefined {
  const table = tables[typeName(value)];
  if (!table || !Object.hasOwn(table, name)) return undefined;
  const { parameters, run } = table[name]!;
  return new NativeFunction(name, parameters, (given, caller, args) => run(value as never, given, args, caller));
}

export function methodNames(value: Value): string[] {
  return Object.keys(tables[typeName(value)] ?? {}).sort();
}
