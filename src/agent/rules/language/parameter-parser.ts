import { parseExpression } from './expression-parser.ts';
import type { Argument, Expression, Parameter } from './syntax.ts';
import type { TokenCursor } from './token-cursor.ts';

/** Parses the parameters of a `def`, or of a `lambda`, which have no types, up to `closing`. */
export function parseParameters(cursor: TokenCursor, closing: ')' | ':'): Parameter[] {
  const parameters: Parameter[] = [];
  while (!cursor.isSymbol(closing)) {
    const parameter = parseParameter(cursor, closing === ')');
    checkParameter(cursor, parameters, parameter);
    parameters.push(parameter);
    if (!cursor.eat(',')) break;
  }
  const last = parameters.at(-1);
  if (last?.kind === 'star') cursor.deferError(1, '`*` parameter must not be last', last);
  return parameters;
}

/** Parses the type after the colon of a parameter or variable, or after an arrow. */
export function parseType(cursor: TokenCursor): Expression {
  const type = parseExpression(cursor);
  const forbidden =
    type.kind === 'literal'
      ? { string: 'string literal', bigint: 'int', number: 'float' }[
          typeof type.value as 'string' | 'bigint' | 'number'
        ]
      : type.kind === 'binary' && type.operator !== '|' && 'bin op except `|`';
  if (forbidden) throw cursor.error(`${forbidden} expression is not allowed in type expression`, type);
  return type;
}

function parseParameter(cursor: TokenCursor, mayHaveType: boolean): Parameter {
  const start = cursor.start;
  const kind = cursor.eat('**') ? 'kwargs' : cursor.eat('*') ? 'args' : 'plain';
  if (kind === 'args' && (cursor.isSymbol(',') || cursor.isSymbol(')') || cursor.isSymbol(':'))) {
    return { kind: 'star', name: '*', ...cursor.since(start) };
  }
  const { name } = cursor.expectName();
  const type = mayHaveType && cursor.eat(':') ? parseType(cursor) : undefined;
  const fallback = kind === 'plain' && cursor.eat('=') ? parseExpression(cursor) : undefined;
  return { kind, name, ...(type && { type }), ...(fallback && { fallback }), ...cursor.since(start) };
}

function checkParameter(cursor: TokenCursor, earlier: readonly Parameter[], parameter: Parameter): void {
  const has = (...kinds: Parameter['kind'][]): boolean => earlier.some(({ kind }) => kinds.includes(kind));
  if (parameter.name !== '*' && earlier.some(({ name }) => name === parameter.name)) {
    cursor.deferError(1, 'duplicated parameter name', parameter);
  }
  if (has('kwargs') && parameter.kind === 'plain') {
    cursor.deferError(1, 'Parameter after kwargs', parameter);
  }
  const isRequired = parameter.kind === 'plain' && parameter.fallback === undefined;
  if (isRequired && !has('star', 'args') && earlier.some(({ fallback }) => fallback !== undefined)) {
    cursor.deferError(1, 'positional parameter after non positional', parameter);
  }
  if ((parameter.kind === 'args' || parameter.kind === 'star') && has('args', 'star', 'kwargs')) {
    cursor.deferError(1, 'Args parameter after another args or kwargs parameter', parameter);
  }
  if (parameter.kind === 'kwargs' && has('kwargs'))
    cursor.deferError(1, 'Multiple kwargs dictionary in parameters', parameter);
}

/** Parses the arguments of a call up to its closing parenthesis. */
export function parseArguments(cursor: TokenCursor): Argument[] {
  const args: Argument[] = [];
  while (!cursor.isSymbol(')')) {
    const argument = parseArgument(cursor);
    checkArgument(cursor, args, argument);
    args.push(argument);
    if (!cursor.eat(',')) break;
  }
  return args;
}

function parseArgument(cursor: TokenCursor): Argument {
  const start = cursor.start;
  const finish = (kind: Argument['kind'], value: Expression, name = ''): Argument => ({
    kind,
    name,
    value,
    ...cursor.since(start),
  });
  if (cursor.eat('**')) return finish('kwargs', parseExpression(cursor));
  if (cursor.eat('*')) return finish('args', parseExpression(cursor));
  const value = parseExpression(cursor);
  if (value.kind !== 'name' || !cursor.isSymbol('=')) return finish('positional', value);
  cursor.take();
  const given = parseExpression(cursor);
  return { ...finish('named', given, value.name), start: value.start };
}

function checkArgument(cursor: TokenCursor, earlier: readonly Argument[], argument: Argument): void {
  const has = (...kinds: Argument['kind'][]): boolean => earlier.some(({ kind }) => kinds.includes(kind));
  if (argument.kind === 'positional' && has('named', 'args', 'kwargs')) {
    cursor.deferError(0, 'positional argument after non positional', argument);
  }
  if (argument.kind === 'named') {
    const nameSpan = { start: argument.start, end: argument.start + argument.name.length };
    if (has('args', 'kwargs')) cursor.deferError(0, 'named argument after *args or **kwargs', argument);
    if (earlier.some(({ kind, name }) => kind === 'named' && name === argument.name)) {
      cursor.deferError(0, 'repeated named argument', nameSpan);
    }
  }
  if (argument.kind === 'args' && has('args', 'kwargs')) {
    cursor.deferError(0, 'Args array after another args or kwargs', argument);
  }
  if (argument.kind === 'kwargs' && has('kwargs')) {
    cursor.deferError(0, 'Multiple kwargs dictionary in arguments', argument);
  }
}
