import { targetNames } from './assigned-names.ts';
import { parseArguments, parseParameters } from './parameter-parser.ts';
import type { BinaryOperator, Clause, Expression } from './syntax.ts';
import type { Token } from './token.ts';
import { TokenCursor } from './token-cursor.ts';

const COMPARISONS = ['==', '!=', '<', '>', '<=', '>=', 'in', 'not'];

/** Operators by precedence, from the weakest to the strongest. */
const LEVELS: readonly (readonly BinaryOperator[])[] = [
  ['|'],
  ['^'],
  ['&'],
  ['<<', '>>'],
  ['+', '-'],
  ['*', '/', '//', '%'],
];

/** Parses one expression, or several separated by commas, which make a tuple. */
export function parseExpressions(cursor: TokenCursor): Expression {
  const first = parseExpression(cursor);
  return cursor.isSymbol(',') ? parseRest(cursor, first) : first;
}

/** Parses the rest of a tuple from its first comma on. */
export function parseRest(cursor: TokenCursor, first: Expression, isInParentheses = false): Expression {
  const items = [first];
  while (cursor.eat(',')) {
    if (startsExpression(cursor.current)) {
      items.push(parseExpression(cursor));
    } else {
      const span = cursor.since(first.start);
      if (!isInParentheses) throw cursor.error('unparenthesized tuple with trailing comma', span);
      break;
    }
  }
  return { kind: 'tuple', items, ...cursor.since(first.start) };
}

function startsExpression(token: Token): boolean {
  if (token.kind === 'symbol') return ['(', '[', '{', '-', '+', '~'].includes(token.text);
  if (token.kind === 'keyword') return token.text === 'not' || token.text === 'lambda';
  return ['name', 'int', 'float', 'string', 'fstring', 'invalid'].includes(token.kind);
}

export function parseExpression(cursor: TokenCursor): Expression {
  return cursor.nest(() => (cursor.isKeyword('lambda') ? parseLambda(cursor) : parseConditional(cursor)));
}

function parseLambda(cursor: TokenCursor): Expression {
  const start = cursor.start;
  cursor.take();
  const parameters = parseParameters(cursor, ':');
  cursor.expectSymbol(':');
  const value = parseExpression(cursor);
  const span = cursor.since(start);
  const locals = new Set(parameters.map(({ name }) => name));
  return { kind: 'lambda', parameters, body: [{ kind: 'return', value, ...span }], locals, ...span };
}

function parseConditional(cursor: TokenCursor): Expression {
  const yes = parseOr(cursor);
  if (!cursor.eat('if')) return yes;
  const test = parseOr(cursor);
  cursor.expectKeyword('else');
  const no = parseExpression(cursor);
  return { kind: 'conditional', test, yes, no, start: yes.start, end: no.end };
}

/** Parses an expression without `if`, as the `for` and `if` clauses of a comprehension have. */
function parseOr(cursor: TokenCursor): Expression {
  let left = parseAnd(cursor);
  while (cursor.eat('or')) {
    const right = parseAnd(cursor);
    left = { kind: 'or', left, right, start: left.start, end: right.end };
  }
  return left;
}

function parseAnd(cursor: TokenCursor): Expression {
  let left = parseNot(cursor);
  while (cursor.eat('and')) {
    const right = parseNot(cursor);
    left = { kind: 'and', left, right, start: left.start, end: right.end };
  }
  return left;
}

function parseNot(cursor: TokenCursor): Expression {
  const start = cursor.start;
  let negations = 0;
  while (cursor.eat('not')) negations += 1;
  let operand = parseComparison(cursor);
  for (; negations > 0; negations -= 1) operand = { kind: 'unary', operator: 'not', operand, ...cursor.since(start) };
  return operand;
}

function parseComparison(cursor: TokenCursor): Expression {
  const left = parseLevel(cursor, 0);
  if (!isComparison(cursor.current)) return left;
  const operator = takeComparison(cursor);
  const right = parseLevel(cursor, 0);
  if (isComparison(cursor.current)) {
    throw cursor.unexpected('end of expression (comparisons are not associative in Starlark)');
  }
  return { kind: 'binary', operator, left, right, start: left.start, end: right.end };
}

function isComparison(token: Token): boolean {
  return (token.kind === 'symbol' || token.kind === 'keyword') && COMPARISONS.includes(token.text);
}

function takeComparison(cursor: TokenCursor): BinaryOperator {
  const { text } = cursor.take() as Token & { text: string };
  if (text !== 'not') return text as BinaryOperator;
  if (!cursor.eat('in')) throw cursor.unexpected("'in' after 'not'");
  return 'not in';
}

function parseLevel(cursor: TokenCursor, level: number): Expression {
  const operators = LEVELS[level];
  if (!operators) return parseUnary(cursor);
  let left = parseLevel(cursor, level + 1);
  for (let operator = operatorHere(cursor, operators); operator; operator = operatorHere(cursor, operators)) {
    cursor.take();
    const right = parseLevel(cursor, level + 1);
    left = { kind: 'binary', operator, left, right, start: left.start, end: right.end };
  }
  return left;
}

function operatorHere(cursor: TokenCursor, operators: readonly BinaryOperator[]): BinaryOperator | undefined {
  return operators.find((operator) => cursor.isSymbol(operator));
}

function parseUnary(cursor: TokenCursor): Expression {
  const prefixes: { operator: '-' | '+' | '~'; start: number }[] = [];
  const here = () => (['-', '+', '~'] as const).find((symbol) => cursor.isSymbol(symbol));
  for (let operator = here(); operator; operator = here()) prefixes.push({ operator, start: cursor.take().start });
  let operand = parsePrimary(cursor);
  for (const { operator, start } of prefixes.reverse()) {
    operand = { kind: 'unary', operator, operand, start, end: operand.end };
  }
  return operand;
}

function parsePrimary(cursor: TokenCursor): Expression {
  let value = parseAtom(cursor);
  for (;;) {
    if (cursor.eat('.')) {
      const { name } = cursor.expectName();
      value = { kind: 'attribute', target: value, name, ...cursor.since(value.start) };
    } else if (cursor.eat('(')) {
      const args = parseArguments(cursor);
      cursor.expectSymbol(')');
      value = { kind: 'call', callee: value, args, ...cursor.since(value.start) };
    } else if (cursor.eat('[')) {
      value = parseSubscript(cursor, value);
    } else {
      return value;
    }
  }
}

function parseSubscript(cursor: TokenCursor, target: Expression): Expression {
  const bound = (): Expression | undefined =>
    cursor.isSymbol(':') || cursor.isSymbol(']') ? undefined : parseExpression(cursor);
  if (cursor.isSymbol(']')) throw cursor.unexpected('expression');
  const first = cursor.isSymbol(':') ? undefined : parseExpression(cursor);
  if (first && !cursor.isSymbol(':')) {
    const second = cursor.eat(',') ? parseExpression(cursor) : undefined;
    cursor.expectSymbol(']');
    return { kind: 'index', target, index: first, ...(second && { second }), ...cursor.since(target.start) };
  }
  cursor.expectSymbol(':');
  const second = bound();
  const third = cursor.eat(':') ? bound() : undefined;
  cursor.expectSymbol(']');
  return { kind: 'slice', target, bounds: [first, second, third], ...cursor.since(target.start) };
}

function parseAtom(cursor: TokenCursor): Expression {
  const token = cursor.current;
  const span = { start: token.start, end: token.end };
  switch (token.kind) {
    case 'name':
      cursor.take();
      return { kind: 'name', name: token.text, ...span };
    case 'int':
    case 'float':
    case 'string':
      cursor.take();
      return { kind: 'literal', value: token.value, ...span };
    case 'fstring': {
      const parts = token.parts.map((part) => (typeof part === 'string' ? part : parseEmbedded(cursor, part)));
      if (token.problem) throw cursor.error(`Parse error: ${token.problem.reason}`, token.problem);
      cursor.take();
      return { kind: 'fstring', parts, ...span };
    }
    default:
      if (cursor.isSymbol('(')) return parseParenthesised(cursor);
      if (cursor.isSymbol('[')) return parseList(cursor);
      if (cursor.isSymbol('{')) return parseDict(cursor);
      throw cursor.unexpected('expression');
  }
}

function parseEmbedded(
  { source }: TokenCursor,
  { tokens, conversion }: { tokens: readonly Token[]; conversion: 'str' | 'repr' },
): { value: Expression; conversion: 'str' | 'repr' } {
  const cursor = new TokenCursor(source, tokens);
  const value = parseExpressions(cursor);
  cursor.expect('expressionEnd', "f-string expression end '}'");
  cursor.finish();
  return { value, conversion };
}

function parseParenthesised(cursor: TokenCursor): Expression {
  const start = cursor.take().start;
  if (cursor.eat(')')) return { kind: 'tuple', items: [], ...cursor.since(start) };
  const first = parseExpression(cursor);
  const inner = cursor.isSymbol(',') ? parseRest(cursor, first, true) : first;
  cursor.expectSymbol(')');
  return inner;
}

function parseList(cursor: TokenCursor): Expression {
  const start = cursor.take().start;
  const items: Expression[] = [];
  while (!cursor.isSymbol(']')) {
    const item = parseExpression(cursor);
    if (items.length === 0 && cursor.isKeyword('for')) return parseComprehension(cursor, start, [item], ']');
    items.push(item);
    if (!cursor.eat(',')) break;
  }
  cursor.expectSymbol(']');
  return { kind: 'list', items, ...cursor.since(start) };
}

function parseDict(cursor: TokenCursor): Expression {
  const start = cursor.take().start;
  const entries: [Expression, Expression][] = [];
  while (!cursor.isSymbol('}')) {
    const key = parseExpression(cursor);
    cursor.expectSymbol(':');
    const value = parseExpression(cursor);
    if (entries.length === 0 && cursor.isKeyword('for')) return parseComprehension(cursor, start, [key, value], '}');
    entries.push([key, value]);
    if (!cursor.eat(',')) break;
  }
  cursor.expectSymbol('}');
  return { kind: 'dict', entries, ...cursor.since(start) };
}

function parseComprehension(
  cursor: TokenCursor,
  start: number,
  item: [Expression] | [Expression, Expression],
  closing: string,
): Expression {
  const clauses: Clause[] = [];
  for (;;) {
    if (cursor.eat('for')) {
      const target = parseTargets(cursor);
      cursor.expectKeyword('in');
      clauses.push({ kind: 'for', target, over: parseOr(cursor) });
    } else if (cursor.eat('if')) {
      clauses.push({ kind: 'if', test: parseOr(cursor) });
    } else {
      break;
    }
  }
  cursor.expectSymbol(closing);
  const locals = new Set(clauses.flatMap((clause) => (clause.kind === 'for' ? targetNames(clause.target) : [])));
  return { kind: 'comprehension', item, clauses, locals, ...cursor.since(start) };
}

/** Parses the variables of a `for`, which have no comparison operators, so that `in` ends them. */
export function parseTargets(cursor: TokenCursor): Expression {
  const start = cursor.start;
  const items = [parseLevel(cursor, 0)];
  const isTuple = cursor.isSymbol(',');
  while (cursor.eat(',')) {
    if (cursor.isKeyword('in')) throw cursor.error('unparenthesized tuple with trailing comma', cursor.since(start));
    items.push(parseLevel(cursor, 0));
  }
  return checkTarget(cursor, isTuple ? { kind: 'tuple', items, ...cursor.since(start) } : items[0]!);
}

/** Refuses assignments to anything but names, attributes, subscripts and sequences of them. */
export function checkTarget(cursor: TokenCursor, target: Expression): Expression {
  if (target.kind === 'list' || target.kind === 'tuple') for (const item of target.items) checkTarget(cursor, item);
  else if (target.kind !== 'name' && target.kind !== 'attribute' && target.kind !== 'index') {
    throw cursor.error('left-hand-side of assignment must take the form `a`, `a.b` or `a[b]`', target);
  }
  return target;
}
