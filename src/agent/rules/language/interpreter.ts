import { length } from './builtins.ts';
import { methodNames, methodOf } from './methods.ts';
import { type Arguments, NativeFunction } from './native-function.ts';
import { binary, unary } from './operators.ts';
import { type CallFrame, LanguageError } from './rules-error.ts';
import type { Source, Span } from './source.ts';
import { suggestion } from './spelling.ts';
import { itemAt, setItem, slice } from './subscript.ts';
import type { Argument, Clause, Expression, Statement } from './syntax.ts';
import { checkAnnotation } from './type-annotation.ts';
import { UserFunction } from './user-function.ts';
import { Dict, Failure, isTrue, iterate, List, Tuple, typeName, type Value } from './value.ts';
import { repr, str } from './value-text.ts';
import { Variables } from './variables.ts';

/** How deep calls may nest; the limit is the reference's. */
const DEEPEST_CALL = 50;

/** Statements, calls and iterations of a file, above which it counts as endless. */
const MOST_STEPS = 1_000_000;

/** How a list of statements ended. */
type Outcome = 'end' | 'break' | 'continue' | { readonly returned: Value; readonly by: Span };

/** Runs the statements of one source. */
export class Interpreter {
  readonly source: Source;
  readonly #frames: (CallFrame & { readonly callee: string })[] = [];
  #steps = 0;

  constructor(source: Source) {
    this.source = source;
  }

  /** The span of the innermost running call. */
  get callSite(): Span {
    return this.#frames.at(-1)?.span ?? { start: 0, end: 0 };
  }

  run(statements: readonly Statement[], variables: Variables): Outcome {
    for (const statement of statements) {
      const outcome = this.#statement(statement, variables);
      if (outcome !== 'end') return outcome;
    }
    return 'end';
  }

  evaluate(expression: Expression, variables: Variables): Value {
    return this.#at(expression, () => this.#value(expression, variables));
  }

  /** Assigns a value to a target. No value has attributes that could be set. */
  assign(target: Expression, value: Value, variables: Variables): void {
    this.#at(target, () => {
      if (target.kind === 'name') {
        variables.set(target.name, value);
      } else if (target.kind === 'list' || target.kind === 'tuple') {
        const count = length(value);
        if (count !== target.items.length) {
          throw new Failure(`Unpacked ${count} values but expected ${target.items.length}`);
        }
        const items = [...iterate(value)];
        for (const [at, item] of target.items.entries()) this.assign(item, items[at]!, variables);
      } else if (target.kind === 'index') {
        setItem(this.evaluate(target.target, variables), this.evaluate(target.index, variables), value);
      } else if (target.kind === 'attribute') {
        const object = this.evaluate(target.target, variables);
        throw new Failure(`Operation \`.${target.name}=\` not supported on type \`${typeName(object)}\``);
      }
    });
  }

  call(callee: Value, args: Arguments, span: Span): Value {
    const caller = this.#frames.at(-1)?.callee ?? '<module>';
    if (this.#frames.length >= DEEPEST_CALL - 1) throw this.#error('Starlark call stack overflow', span);
    this.#frames.push({ caller, span, callee: callee instanceof UserFunction ? callee.name : '' });
    const result = this.#at(span, () => {
      if (callee instanceof UserFunction) return callee.call(args, this);
      if (callee instanceof NativeFunction) return this.#native(callee, args, span);
      throw new Failure(`Operation \`call()\` not supported on type \`${typeName(callee)}\``);
    });
    this.#frames.pop();
    return result;
  }

  #native(callee: NativeFunction, args: Arguments, span: Span): Value {
    return callee.call(args, (inner, ...positional) => this.call(inner, { positional, named: new Map() }, span));
  }

  /** Runs the work; adds this position to a failure that has none yet. */
  #at<T>(span: Span, work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      throw this.#error(error.message, span);
    }
  }

  #error(reason: string, span: Span): LanguageError {
    return new LanguageError(reason, this.source, span, this.#frames);
  }

  #step(span: Span): void {
    this.#steps += 1;
    if (this.#steps > MOST_STEPS) throw this.#error(`Gave up after ${MOST_STEPS} steps`, span);
  }

  #statement(statement: Statement, variables: Variables): Outcome {
    this.#step(statement);
    switch (statement.kind) {
      case 'expression':
        this.evaluate(statement.value, variables);
        return 'end';
      case 'assign': {
        const value = this.evaluate(statement.value, variables);
        if (statement.type) this.checkType(value, statement.type, 'return type', statement.type);
        this.assign(statement.target, value, variables);
        return 'end';
      }
      case 'update':
        this.#at(statement, () => this.#update(statement, variables));
        return 'end';
      case 'def':
        variables.set(statement.name, UserFunction.define(statement.name, statement.syntax, variables, this));
        return 'end';
      case 'if':
        return this.run(isTrue(this.evaluate(statement.test, variables)) ? statement.yes : statement.no, variables);
      case 'for':
        return this.#for(statement, variables);
      case 'return':
        return { returned: statement.value ? this.evaluate(statement.value, variables) : null, by: statement };
      case 'load':
        throw this.#error(importRefusal(statement.module), statement);
      case 'break':
      case 'continue':
        return statement.kind;
      case 'pass':
        return 'end';
    }
  }

  checkType(value: Value, annotation: Expression, purpose: string, span: Span): void {
    this.#at(span, () => checkAnnotation(value, annotation, purpose));
  }

  #for({ target, over, body, ...span }: Statement & { kind: 'for' }, variables: Variables): Outcome {
    const collection = this.evaluate(over, variables);
    let outcome: Outcome = 'end';
    this.#each(collection, span, (item) => {
      this.assign(target, item, variables);
      outcome = this.run(body, variables);
      return outcome === 'end' || outcome === 'continue';
    });
    return typeof outcome === 'object' ? outcome : 'end';
  }

  /** Visits items until `visit` returns false; the collection cannot change meanwhile. */
  #each(collection: Value, span: Span, visit: (item: Value) => boolean): void {
    const items = this.#at(span, () => iterate(collection));
    const held = collection instanceof List || collection instanceof Dict ? collection : undefined;
    held?.hold();
    try {
      for (const item of items) {
        this.#step(span);
        if (!visit(item)) return;
      }
    } finally {
      held?.release();
    }
  }

  #update({ target, operator, value }: Statement & { kind: 'update' }, variables: Variables): void {
    if (target.kind !== 'index') {
      const before = target.kind === 'name' ? variables.get(target.name) : this.evaluate(target, variables);
      const change = this.evaluate(value, variables);
      if (operator === '+' && before instanceof List) before.splice(before.items.length, 0, ...iterate(change));
      else this.assign(target, binary(operator, before, change), variables);
      return;
    }
    const object = this.evaluate(target.target, variables);
    const index = this.evaluate(target.index, variables);
    setItem(object, index, binary(operator, itemAt(object, index), this.evaluate(value, variables)));
  }

  #value(expression: Expression, variables: Variables): Value {
    const evaluate = (inner: Expression): Value => this.evaluate(inner, variables);
    switch (expression.kind) {
      case 'literal':
        return expression.value;
      case 'fstring':
        return expression.parts
          .map((part) => {
            if (typeof part === 'string') return part;
            return part.conversion === 'repr' ? repr(evaluate(part.value)) : str(evaluate(part.value));
          })
          .join('');
      case 'name':
        return variables.get(expression.name);
      case 'list':
        return new List(expression.items.map(evaluate));
      case 'tuple':
        return new Tuple(expression.items.map(evaluate));
      case 'dict':
        return this.#dict(expression.entries, evaluate);
      case 'comprehension':
        return this.#comprehension(expression, variables);
      case 'lambda':
        return UserFunction.define('lambda', expression, variables, this);
      case 'conditional':
        return evaluate(isTrue(evaluate(expression.test)) ? expression.yes : expression.no);
      case 'and':
      case 'or': {
        const left = evaluate(expression.left);
        return isTrue(left) === (expression.kind === 'or') ? left : evaluate(expression.right);
      }
      case 'unary':
        if (expression.operator === 'not') return !isTrue(evaluate(expression.operand));
        return unary(expression.operator, evaluate(expression.operand));
      case 'binary':
        return binary(expression.operator, evaluate(expression.left), evaluate(expression.right));
      case 'call':
        return this.#call(expression, variables);
      case 'index': {
        const target = evaluate(expression.target);
        if (expression.second) throw new Failure(`Operation \`[,]\` not supported on type \`${typeName(target)}\``);
        return itemAt(target, evaluate(expression.index));
      }
      case 'slice': {
        const [start, stop, step] = expression.bounds.map((bound) => bound && evaluate(bound));
        return slice(evaluate(expression.target), [start, stop, step]);
      }
      case 'attribute':
        return attribute(evaluate(expression.target), expression.name);
    }
  }

  #dict(entries: readonly (readonly [Expression, Expression])[], evaluate: (inner: Expression) => Value): Dict {
    const dict = new Dict();
    for (const [keyExpression, valueExpression] of entries) {
      const key = evaluate(keyExpression);
      this.#at(keyExpression, () => {
        if (dict.has(key)) throw new Failure(`Dictionary key repeated for \`${repr(key)}\``);
      });
      dict.set(key, evaluate(valueExpression));
    }
    return dict;
  }

  #call({ callee, args, ...span }: Expression & { kind: 'call' }, variables: Variables): Value {
    this.#step(span);
    if (callee.kind === 'attribute') {
      const method = attribute(this.evaluate(callee.target, variables), callee.name);
      return this.call(method, this.#arguments(args, variables), span);
    }
    return this.call(this.evaluate(callee, variables), this.#arguments(args, variables), span);
  }

  #arguments(args: readonly Argument[], variables: Variables): Arguments {
    const positional: Value[] = [];
    const named = new Map<string, Value>();
    for (const { kind, name, value: expression } of args) {
      const value = this.evaluate(expression, variables);
      if (kind === 'positional') positional.push(value);
      else if (kind === 'named') named.set(name, value);
      else if (kind === 'args') positional.push(...iterate(value));
      else for (const [key, item] of keywords(value)) named.set(key, item);
    }
    return { positional, named };
  }

  #comprehension(expression: Expression & { kind: 'comprehension' }, variables: Variables): Value {
    const inside = new Variables(expression.locals, variables);
    const [first, second] = expression.item;
    const collected: [Value, Value][] = [];
    const visit = ([clause, ...rest]: readonly Clause[], around: Variables): void => {
      if (clause === undefined) {
        collected.push([this.evaluate(first, inside), second ? this.evaluate(second, inside) : null]);
      } else if (clause.kind === 'if') {
        if (isTrue(this.evaluate(clause.test, inside))) visit(rest, inside);
      } else {
        this.#each(this.evaluate(clause.over, around), clause.over, (item) => {
          this.assign(clause.target, item, inside);
          visit(rest, inside);
          return true;
        });
      }
    };
    visit(expression.clauses, variables);
    return second ? Dict.of(collected) : new List(collected.map(([item]) => item));
  }
}

function attribute(object: Value, name: string): Value {
  const method = methodOf(object, name);
  if (method) return method;
  const hint = suggestion(name, methodNames(object));
  throw new Failure(`Object of type \`${typeName(object)}\` has no attribute \`${name}\`${hint}`);
}

function keywords(value: Value): [string, Value][] {
  if (!(value instanceof Dict)) throw new Failure('The argument provided for **kwargs is not a dictionary');
  return value.entries().map(([key, item]) => {
    if (typeof key !== 'string') throw new Failure('The argument provided for **kwargs must have string keys');
    return [key, item];
  });
}

export function importRefusal(module: string): string {
  return `No imports are available, you tried \`${module}\` (no call to \`Evaluator.set_loader\`)`;
}
