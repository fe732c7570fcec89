import { assignedNames } from './assigned-names.ts';
import { LanguageError } from './rules-error.ts';
import type { Source } from './source.ts';
import { suggestion } from './spelling.ts';
import type { Expression, FunctionSyntax, Statement } from './syntax.ts';

/** Checks before the run that every name is that of a variable, a parameter or one of `globals`. */
export function checkNames(source: Source, statements: readonly Statement[], globals: Iterable<string>): void {
  const names = new Set(assignedNames(statements));
  new NameCheck(source, [...globals]).statements(statements, [names]);
}

type Scopes = readonly ReadonlySet<string>[];

class NameCheck {
  readonly #source: Source;
  readonly #globals: readonly string[];

  constructor(source: Source, globals: readonly string[]) {
    this.#source = source;
    this.#globals = globals;
  }

  statements(statements: readonly Statement[], scopes: Scopes): void {
    for (const statement of statements) this.#statement(statement, scopes);
  }

  #statement(statement: Statement, scopes: Scopes): void {
    switch (statement.kind) {
      case 'expression':
        this.#expression(statement.value, scopes);
        return;
      case 'assign':
      case 'update':
        if (statement.kind === 'assign' && statement.type) this.#expression(statement.type, scopes);
        this.#expression(statement.value, scopes);
        this.#expression(statement.target, scopes);
        return;
      case 'def':
        this.#function(statement.syntax, scopes);
        return;
      case 'if':
        this.#expression(statement.test, scopes);
        this.statements(statement.yes, scopes);
        this.statements(statement.no, scopes);
        return;
      case 'for':
        this.#expression(statement.target, scopes);
        this.#expression(statement.over, scopes);
        this.statements(statement.body, scopes);
        return;
      case 'return':
        if (statement.value) this.#expression(statement.value, scopes);
    }
  }

  #function({ parameters, body, locals, returns }: FunctionSyntax, scopes: Scopes): void {
    for (const { fallback, type } of parameters) {
      if (type) this.#expression(type, scopes);
      if (fallback) this.#expression(fallback, scopes);
    }
    if (returns) this.#expression(returns, scopes);
    this.statements(body, [...scopes, locals]);
  }

  #expression(expression: Expression, scopes: Scopes): void {
    const visit = (inner: Expression): void => this.#expression(inner, scopes);
    switch (expression.kind) {
      case 'name':
        this.#name(expression, scopes);
        return;
      case 'lambda':
        this.#function(expression, scopes);
        return;
      case 'comprehension': {
        const inside = [...scopes, expression.locals];
        for (const [index, clause] of expression.clauses.entries()) {
          if (clause.kind === 'if') this.#expression(clause.test, inside);
          else this.#expression(clause.over, index === 0 ? scopes : inside);
        }
        for (const item of expression.item) this.#expression(item, inside);
        return;
      }
      default:
        for (const part of parts(expression)) visit(part);
    }
  }

  #name({ name, start, end }: Expression & { kind: 'name' }, scopes: Scopes): void {
    if (scopes.some((scope) => scope.has(name)) || this.#globals.includes(name)) return;
    const known = [...scopes.toReversed().flatMap((scope) => [...scope]), ...this.#globals];
    throw new LanguageError(`Variable \`${name}\` not found${suggestion(name, known)}`, this.#source, { start, end });
  }
}

/** The direct parts of an expression that opens no scope. */
function parts(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case 'fstring':
      return expression.parts.flatMap((part) => (typeof part === 'string' ? [] : [part.value]));
    case 'list':
    case 'tuple':
      return expression.items;
    case 'dict':
      return expression.entries.flat();
    case 'conditional':
      return [expression.test, expression.yes, expression.no];
    case 'and':
    case 'or':
    case 'binary':
      return [expression.left, expression.right];
    case 'unary':
      return [expression.operand];
    case 'call':
      return [expression.callee, ...expression.args.map(({ value }) => value)];
    case 'index':
      return [expression.target, expression.index, ...(expression.second ? [expression.second] : [])];
    case 'slice':
      return [expression.target, ...expression.bounds].filter((part) => part !== undefined);
    case 'attribute':
      return [expression.target];
    default:
      return [];
  }
}
