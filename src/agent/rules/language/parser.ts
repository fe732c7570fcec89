import { assignedNames } from './assigned-names.ts';
import { checkTarget, parseExpression, parseExpressions, parseRest, parseTargets } from './expression-parser.ts';
import { tokenize } from './lexer.ts';
import { parseParameters, parseType } from './parameter-parser.ts';
import type { Source } from './source.ts';
import type { BinaryOperator, Expression, Statement } from './syntax.ts';
import { TokenCursor } from './token-cursor.ts';

const UPDATES = ['+=', '-=', '*=', '/=', '//=', '%=', '&=', '|=', '^=', '<<=', '>>='] as const;

/** The blocks around a statement: some statements are for loops or functions only. */
interface EnclosingBlocks {
  readonly isInDef: boolean;
  readonly isInFor: boolean;
}

/** Parses a whole file. */
export function parse(source: Source): Statement[] {
  const cursor = new TokenCursor(source, tokenize(source.text));
  const statements: Statement[] = [];
  cursor.skipNewlines();
  while (cursor.current.kind !== 'end') {
    statements.push(...parseStatement(cursor, { isInDef: false, isInFor: false }));
    cursor.skipNewlines();
  }
  cursor.finish();
  return statements;
}

function parseStatement(cursor: TokenCursor, blocks: EnclosingBlocks): Statement[] {
  if (cursor.isKeyword('def')) return [parseDef(cursor)];
  if (cursor.isKeyword('if')) return [parseIf(cursor, blocks)];
  if (cursor.isKeyword('for')) return [parseFor(cursor, blocks)];
  return parseLine(cursor, blocks);
}

function parseDef(cursor: TokenCursor): Statement {
  const start = cursor.take().start;
  const { name, ...nameSpan } = cursor.expectName();
  cursor.expectSymbol('(');
  const parameters = parseParameters(cursor, ')');
  cursor.expectSymbol(')');
  const returns = cursor.eat('->') ? parseType(cursor) : undefined;
  cursor.expectSymbol(':');
  const body = parseSuite(cursor, { isInDef: true, isInFor: false });
  const locals = new Set([...parameters.map((parameter) => parameter.name), ...assignedNames(body)]);
  const syntax = { parameters, body, locals, ...(returns && { returns }) };
  return { kind: 'def', name, nameSpan, syntax, ...cursor.since(start) };
}

/** Parses from `if` or `elif` on. */
function parseIf(cursor: TokenCursor, blocks: EnclosingBlocks): Statement {
  const start = cursor.take().start;
  const test = parseExpression(cursor);
  cursor.expectSymbol(':');
  const yes = parseSuite(cursor, blocks);
  const no = cursor.isKeyword('elif') ? [parseIf(cursor, blocks)] : parseElse(cursor, blocks);
  return { kind: 'if', test, yes, no, ...cursor.since(start) };
}

function parseElse(cursor: TokenCursor, blocks: EnclosingBlocks): Statement[] {
  if (!cursor.eat('else')) return [];
  cursor.expectSymbol(':');
  return parseSuite(cursor, blocks);
}

function parseFor(cursor: TokenCursor, blocks: EnclosingBlocks): Statement {
  const start = cursor.take().start;
  const target = parseTargets(cursor);
  cursor.expectKeyword('in');
  const over = parseExpression(cursor);
  cursor.expectSymbol(':');
  const body = parseSuite(cursor, { ...blocks, isInFor: true });
  return { kind: 'for', target, over, body, ...cursor.since(start) };
}

function parseSuite(cursor: TokenCursor, blocks: EnclosingBlocks): Statement[] {
  if (cursor.current.kind !== 'newline') return parseLine(cursor, blocks);
  cursor.skipNewlines();
  cursor.expect('indent', 'new indentation block');
  const statements: Statement[] = [];
  do {
    statements.push(...parseStatement(cursor, blocks));
    cursor.skipNewlines();
  } while (!cursor.isEndOfBlock);
  cursor.eatDedent();
  return statements;
}

function parseLine(cursor: TokenCursor, blocks: EnclosingBlocks): Statement[] {
  const statements = [parseSmallStatement(cursor, blocks)];
  while (cursor.eat(';') && cursor.current.kind !== 'newline') statements.push(parseSmallStatement(cursor, blocks));
  cursor.expect('newline', 'new line');
  return statements;
}

function parseSmallStatement(cursor: TokenCursor, blocks: EnclosingBlocks): Statement {
  const start = cursor.start;
  if (cursor.eat('pass')) return { kind: 'pass', ...cursor.since(start) };
  if (cursor.isKeyword('break') || cursor.isKeyword('continue')) return parseJump(cursor, blocks);
  if (cursor.eat('return')) return parseReturn(cursor, start, blocks);
  if (cursor.eat('load')) return parseLoad(cursor, start);
  return parseAssignment(cursor, start);
}

function parseJump(cursor: TokenCursor, { isInFor }: EnclosingBlocks): Statement {
  const { start, end } = cursor.current;
  const kind = cursor.eat('break') ? 'break' : 'continue';
  if (kind === 'continue') cursor.eat('continue');
  if (!isInFor) cursor.deferError(2, `\`${kind}\` cannot be used outside of a \`for\` loop`, { start, end });
  return { kind, start, end };
}

function parseReturn(cursor: TokenCursor, start: number, { isInDef }: EnclosingBlocks): Statement {
  const value = cursor.current.kind === 'newline' || cursor.isSymbol(';') ? undefined : parseExpressions(cursor);
  const span = cursor.since(start);
  if (!isInDef) cursor.deferError(2, '`return` cannot be used outside of a `def` function', span);
  return { kind: 'return', ...(value && { value }), ...span };
}

function parseLoad(cursor: TokenCursor, start: number): Statement {
  cursor.expectSymbol('(');
  const module = cursor.current;
  if (module.kind !== 'string') throw cursor.unexpected('string literal');
  cursor.take();
  const names: string[] = [];
  while (cursor.eat(',') && !cursor.isSymbol(')')) names.push(parseLoaded(cursor));
  cursor.expectSymbol(')');
  if (names.length === 0) cursor.deferError(0, '`load` statement requires at least two arguments', module);
  return { kind: 'load', module: module.value, names, ...cursor.since(start) };
}

function parseLoaded(cursor: TokenCursor): string {
  const first = cursor.take();
  if (first.kind === 'string') return first.value;
  const isRenamed = first.kind === 'name' && cursor.eat('=') && cursor.take().kind === 'string';
  if (!isRenamed) throw cursor.error('Parse error: expected string literal in load statement', first);
  return first.text;
}

function parseAssignment(cursor: TokenCursor, start: number): Statement {
  const first = parseExpression(cursor);
  const isTuple = cursor.isSymbol(',');
  const target = isTuple ? parseRest(cursor, first) : first;
  const type = cursor.eat(':') ? parseType(cursor) : undefined;
  if (cursor.eat('=')) {
    const value = parseExpressions(cursor);
    checkTarget(cursor, target);
    return { kind: 'assign', target, ...(type && { type }), value, ...cursor.since(start) };
  }
  const update = UPDATES.find((symbol) => cursor.isSymbol(symbol));
  if (update) return parseUpdate(cursor, start, target, update.slice(0, -1) as BinaryOperator);
  if (type || isTuple) throw cursor.unexpected('assignment operator');
  return { kind: 'expression', value: target, ...cursor.since(start) };
}

function parseUpdate(cursor: TokenCursor, start: number, target: Expression, operator: BinaryOperator): Statement {
  cursor.take();
  const value = parseExpressions(cursor);
  if (target.kind === 'tuple' || target.kind === 'list') {
    throw cursor.error('left-hand-side of modifying assignment cannot be a list or tuple', target);
  }
  checkTarget(cursor, target);
  return { kind: 'update', target, operator, value, ...cursor.since(start) };
}
