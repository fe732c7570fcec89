import type { Interpreter } from './interpreter.ts';
import type { Arguments } from './native-function.ts';
import type { FunctionSyntax, Parameter } from './syntax.ts';
import { type Callable, Dict, Failure, Tuple, type Value } from './value.ts';
import { Variables } from './variables.ts';

/** A `def` or `lambda` of the program, with the variables of its scope. */
export class UserFunction implements Callable {
  readonly kind = 'function';
  readonly name: string;
  readonly displayName: string;
  readonly #syntax: FunctionSyntax;
  readonly #outer: Variables;
  readonly #fallbacks: ReadonlyMap<string, Value>;

  private constructor(
    name: string,
    displayName: string,
    syntax: FunctionSyntax,
    outer: Variables,
    fallbacks: ReadonlyMap<string, Value>,
  ) {
    this.name = name;
    this.displayName = displayName;
    this.#syntax = syntax;
    this.#outer = outer;
    this.#fallbacks = fallbacks;
  }

  /** Evaluates default values once, not at each call. */
  static define(name: string, syntax: FunctionSyntax, outer: Variables, interpreter: Interpreter): UserFunction {
    const fallbacks = syntax.parameters.flatMap((parameter) =>
      parameter.fallback ? [[parameter.name, interpreter.evaluate(parameter.fallback, outer)] as const] : [],
    );
    return new UserFunction(name, `${interpreter.source.name}.${name}`, syntax, outer, new Map(fallbacks));
  }

  call(args: Arguments, interpreter: Interpreter): Value {
    const variables = new Variables(this.#syntax.locals, this.#outer);
    for (const [parameter, value] of this.#bind(args)) {
      if (parameter.type) {
        interpreter.checkType(value, parameter.type, `argument \`${parameter.name}\``, interpreter.callSite);
      }
      variables.set(parameter.name, value);
    }
    const outcome = interpreter.run(this.#syntax.body, variables);
    const { returned, by } = typeof outcome === 'object' ? outcome : { returned: null, by: interpreter.callSite };
    if (this.#syntax.returns) interpreter.checkType(returned, this.#syntax.returns, 'return type', by);
    return returned;
  }

  #bind({ positional, named }: Arguments): [Parameter, Value][] {
    const { parameters } = this.#syntax;
    const star = parameters.findIndex(({ kind }) => kind !== 'plain');
    const byPosition = parameters.slice(0, star < 0 ? parameters.length : star);
    const rest = parameters.find(({ kind }) => kind === 'args');
    const keywords = parameters.find(({ kind }) => kind === 'kwargs');
    const bound = new Map(positional.slice(0, byPosition.length).map((value, at) => [byPosition[at]!.name, value]));
    const unknown: [string, Value][] = [];
    for (const [name, value] of named) {
      const isKnown = parameters.some((parameter) => parameter.kind === 'plain' && parameter.name === name);
      if (bound.has(name)) throw new Failure(`Argument \`${name}\` occurs more than once`);
      if (isKnown) bound.set(name, value);
      else unknown.push([name, value]);
    }
    const extra = positional.slice(byPosition.length);
    if (extra.length > 0 && !rest) {
      throw new Failure(`Found ${extra.length} extra positional argument(s) for call to ${this.displayName}`);
    }
    const all = parameters.flatMap((parameter, at): [Parameter, Value][] => {
      if (parameter.kind === 'star') return [];
      if (parameter.kind === 'args') return [[parameter, new Tuple(extra)]];
      if (parameter.kind === 'kwargs') return [[parameter, Dict.of(unknown)]];
      const value = bound.has(parameter.name) ? bound.get(parameter.name) : this.#fallbacks.get(parameter.name);
      if (value === undefined) {
        const kind = star >= 0 && at > star ? 'named-only parameter' : 'parameter';
        throw new Failure(`Missing ${kind} \`${parameter.name}\` for call to \`${this.displayName}\``);
      }
      return [[parameter, value]];
    });
    if (unknown.length > 0 && !keywords) {
      const names = unknown.map(([name]) => `\`${name}\``).join(' ');
      throw new Failure(`Found ${names} extra named parameter(s) for call to ${this.displayName}`);
    }
    return all;
  }
}
