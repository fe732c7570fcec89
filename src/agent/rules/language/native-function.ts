import { type Callable, Failure, List, Tuple, typeName, type Value } from './value.ts';
import { repr } from './value-text.ts';

/** The arguments of a call. */
export interface Arguments {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
}

/** Calls a function of the program, for native functions that take functions. */
export type CallFunction = (callee: Value, ...positional: readonly Value[]) => Value;

/** Arguments by the name of their parameter. */
export type BoundArguments = Readonly<Record<string, Value | undefined>>;

const SIGNATURE = /^(?<only>[/=*]|\*\*)?(?<name>\w+)(?<optional>\?)?(?:: (?<type>.+))?$/;

interface ParameterSpec {
  readonly name: string;
  /** `/` by position only, `=` by name only, `*` all further positions, `**` all further names. */
  readonly only: string | undefined;
  readonly isOptional: boolean;
  readonly type: string | undefined;
}

const TYPE_TESTS: Readonly<Record<string, (value: Value) => boolean>> = {
  str: (value) => typeof value === 'string',
  int: (value) => typeof value === 'bigint',
  bool: (value) => typeof value === 'boolean',
  list: (value) => value instanceof List,
  None: (value) => value === null,
  'tuple[str, ...]': (value) => value instanceof Tuple && value.items.every((item) => typeof item === 'string'),
};

/**
 * A function of the language. A parameter is written as `name`, or `name?` when it is optional; with `: type` it takes only
 * values of that type; after `/` it is positional only, after `=` by name only.
 */
export class NativeFunction implements Callable {
  readonly kind = 'function';
  readonly displayName: string;
  readonly #parameters: readonly ParameterSpec[];
  readonly #run: (given: BoundArguments, caller: CallFunction, args: Arguments) => Value;

  constructor(
    name: string,
    parameters: readonly string[],
    run: (given: BoundArguments, caller: CallFunction, args: Arguments) => Value,
  ) {
    this.displayName = name;
    this.#run = run;
    this.#parameters = parameters.map((parameter) => {
      const { only, name, optional, type } = SIGNATURE.exec(parameter)!.groups as Record<string, string | undefined>;
      return { name: name!, only, isOptional: optional !== undefined, type };
    });
  }

  call(args: Arguments, caller: CallFunction): Value {
    return this.#run(this.#bind(args), caller, args);
  }

  #bind({ positional, named }: Arguments): BoundArguments {
    const byPosition = this.#parameters.filter(({ only }) => only === undefined || only === '/');
    const takesRest = this.#parameters.some(({ only }) => only === '*');
    if (byPosition.length > 0 && this.#parameters.every(({ only }) => only === '/'))
      this.#checkCount(positional.length);
    const given: Record<string, Value> = {};
    for (const [at, { name }] of byPosition.entries()) {
      if (at < positional.length) given[name] = positional[at]!;
    }
    for (const [name, value] of named) {
      if (name in given) throw new Failure(`Argument \`${name}\` occurs more than once`);
      given[name] = value;
    }
    const extra = positional.length - byPosition.length;
    if (extra > 0 && !takesRest) {
      throw new Failure(`Found ${extra} extra positional argument(s) for call to ${this.displayName}`);
    }
    for (const parameter of this.#parameters) this.#checkPresence(parameter, given);
    this.#checkNames(named);
    for (const { name, type } of this.#parameters) {
      if (type !== undefined && given[name] !== undefined) checkType(name, type, given[name]);
    }
    return given;
  }

  #checkCount(count: number): void {
    const most = this.#parameters.length;
    const least = this.#parameters.filter(({ isOptional }) => !isOptional).length;
    if (count >= least && count <= most) return;
    const expected = least === most ? String(most) : `between ${least} and ${most}`;
    throw new Failure(`Wrong number of positional arguments, expected ${expected}, got ${count}`);
  }

  #checkNames(named: ReadonlyMap<string, Value>): void {
    if (this.#parameters.some(({ only }) => only === '**')) return;
    const isUnknown = (name: string): boolean =>
      !this.#parameters.some(
        (parameter) => parameter.name === name && parameter.only !== '/' && parameter.only !== '*',
      );
    const unknown = [...named.keys()].filter(isUnknown);
    if (unknown.length === 0) return;
    const names = unknown.map((name) => `\`${name}\``).join(' ');
    throw new Failure(`Found ${names} extra named parameter(s) for call to ${this.displayName}`);
  }

  #checkPresence({ name, only, isOptional }: ParameterSpec, given: BoundArguments): void {
    if (given[name] !== undefined || isOptional || only?.startsWith('*')) return;
    throw new Failure(`Missing parameter \`${name}\` for call to \`${this.displayName}\``);
  }
}

/** Throws unless a value has one of the types in `type`. */
export function checkType(parameter: string, type: string, value: Value): void {
  const isRight = type.split(' | ').some((one) => TYPE_TESTS[one]!(value));
  if (!isRight) throw typeMismatch(parameter, type, value);
}

export function typeMismatch(parameter: string, type: string, value: Value): Failure {
  const actual = `${typeName(value)} (repr: ${repr(value)})`;
  return new Failure(`Type of parameter \`${parameter}\` doesn't match, expected \`${type}\`, actual \`${actual}\``);
}
