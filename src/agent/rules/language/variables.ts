import { Failure, type Value } from './value.ts';

/** The variables of a file, a function call or a comprehension, and the enclosing ones. */
export class Variables {
  readonly #declared: ReadonlySet<string>;
  readonly #values = new Map<string, Value>();
  readonly #outer: Variables | ReadonlyMap<string, Value>;

  constructor(declared: ReadonlySet<string>, outer: Variables | ReadonlyMap<string, Value>) {
    this.#declared = declared;
    this.#outer = outer;
  }

  get(name: string): Value {
    const value = this.#values.get(name);
    if (value !== undefined) return value;
    if (this.#declared.has(name)) throw new Failure(`Local variable \`${name}\` referenced before assignment`);
    return this.#outer.get(name) as Value;
  }

  /** Sets a variable in the scope that declares it: a comprehension has its own loop variables. */
  set(name: string, value: Value): void {
    if (this.#declared.has(name) || !(this.#outer instanceof Variables)) this.#values.set(name, value);
    else this.#outer.set(name, value);
  }
}
