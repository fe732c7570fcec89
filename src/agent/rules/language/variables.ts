import { Failure, type Value } from './value.ts';

/** The names of a file, a function call or a comprehension, and those around it. */
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

  /** Sets the name where it is declared: a loop in a comprehension has its own, an assignment its function's. */
  set(name: string, value: Value): void {
    if (this.#declared.has(name) || !(this.#outer instanceof Variables)) this.#values.set(name, value);
    else this.#outer.set(name, value);
  }
}
