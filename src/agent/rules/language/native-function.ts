import { type Callable, Failure, List, Tuple, typeName, type Value } from './value.ts';
import { repr } from './value-text.ts';

/** What a call hands over. */
export interface Arguments {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
}

/** Calls back into the program, for functions that take functions. */
export type Caller = (callee: Value, ...positional: readonly Value[]) => Value;

export type Given = Readonly<Record<string, Value | undefined>>;

const SIGNATURE = /^(?<only>[/=*]|\*\*)?(?<name>\w+)(?<optional>\?)?(?:: (?<type>.+))?$/;

interface Accepted {
  readonly name: string;
  /** `/` by position only, `=` by name only, `*` all further positions. */
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
 * A function the language offers. A parameter is written as `name`, `name?` when it may be left out, with `: type`
 * when only values of that type will do, after `/` when it goes by position only, after `=` when by name only.
 */
export class NativeFunction implements Callable {
  readonly kind = 'function';
  readonly displayName: string;
  readonly #accepted: readonly Accepted[];
  readonly #run: (given: Given, caller: Caller, args: Arguments) => Value;

  constructor(
    name: string,
    parameters: readonly string[],
    run: (given: Given, caller: Caller, args: Arguments) => Value,
  ) {
    this.displayName = name;
    this.#run = run;
    this.#accepted = parameters.map((parameter) => {
      const { only, name, optional, type } = SIGNATURE.exec(parameter)!.groups as Record<string, string | undefined>;
      return { name: name!, only, isOptional: optional !== undefined, type };
    });
  }

  call(args: Arguments, caller: Caller): Value {
    return this.#run(this.#bind(args), caller, args);
  }

  #bind({ positional, named }: Arguments): Given {
    const byPosition = this.#accepted.filter(({ only }) => only === undefined || only === '/');
    const takesRest = this.#accepted.some(({ only }) => only === '*');
    if (byPosition.length > 0 && this.#accepted.every(({ only }) => only === '/')) this.#checkCount(positional.length);
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
    for (const accepted of this.#accepted) this.#checkPresence(accepted, given);
    this.#checkNames(named);
    for (const { name, type } of this.#accepted) {
      if (type !== undefined && given[name] !== undefined) checkType(name, type, given[name]);
    }
    return given;
  }

  #checkCount(count: number): void {
    const most = this.#accepted.length;
    const least = this.#accepted.filter(({ isOptional }) => !isOptional).length;
    if (count >= least && count <= most) return;
    const expected = least === most ? String(most) : `between ${least} and ${most}`;
    throw new Failure(`Wrong number of positional arguments, expected ${expected}, got ${count}`);
  }

  #checkNames(named: ReadonlyMap<string, Value>): void {
    if (this.#accepted.some(({ only }) => only === '**')) return;
    const isUnknown = (name: string): boolean =>
      !this.#accepted.some((accepted) => accepted.name === name && accepted.only !== '/' && accepted.only !== '*');
    const unknown = [...named.keys()].filter(isUnknown);
    if (unknown.length === 0) return;
    const names = unknown.map((name) => `\`${name}\``).join(' ');
    throw new Failure(`Found ${names} extra named parameter(s) for call to ${this.displayName}`);
  }

  #checkPresence({ name, only, isOptional }: Accepted, given: Given): void {
    if (given[name] !== undefined || isOptional || only?.startsWith('*')) return;
    throw new Failure(`Missing parameter \`${name}\` for call to \`${this.displayName}\``);
  }
}

/** Refuses a value of another type than the one named. */
export function checkType(parameter: string, type: string, value: Value): void {
  const isRight = type.split(' | ').some((one) => TYPE_TESTS[one]!(value));
  if (!isRight) throw mismatch(parameter, type, value);
}

export function mismatch(parameter: string, type: string, value: Value): Failure {
  const actual = `${typeName(value)} (repr: ${repr(value)})`;
  return new Failure(`Type of parameter \`${parameter}\` doesn't match, expected \`${type}\`, actual \`${actual}\``);
}
