import type { BinaryOperator } from './syntax.ts';
import { formatPercent } from './text-format.ts';
import { Dict, Failure, isEqual, LARGEST, List, Range, Tuple, typeName, type Value } from './value.ts';
import { float } from './value-text.ts';

/** Applies an operator that evaluates both operands. */
export function binary(operator: BinaryOperator, left: Value, right: Value): Value {
  switch (operator) {
    case '==':
      return isEqual(left, right);
    case '!=':
      return !isEqual(left, right);
    case '<':
      return compare(left, right) < 0;
    case '>':
      return compare(left, right) > 0;
    case '<=':
      return compare(left, right) <= 0;
    case '>=':
      return compare(left, right) >= 0;
    case 'in':
      return contains(right, left);
    case 'not in':
      return !contains(right, left);
    case '+':
      return add(left, right);
    case '*':
      return multiply(left, right);
    case '%':
      return typeof left === 'string' ? formatPercent(left, right) : arithmetic('%', left, right);
    case '|':
      if (left instanceof Dict && right instanceof Dict) return Dict.of([...left.entries(), ...right.entries()]);
      return bitwise('|', left, right);
    case '&':
    case '^':
    case '<<':
    case '>>':
      return bitwise(operator, left, right);
    default:
      return arithmetic(operator, left, right);
  }
}

export function unary(operator: '-' | '+' | '~', operand: Value): Value {
  if (typeof operand === 'bigint') return operator === '-' ? -operand : operator === '~' ? ~operand : operand;
  if (typeof operand === 'number' && operator !== '~') return operator === '-' ? -operand : operand;
  throw new Failure(`Operation \`${operator}\` not supported on type \`${typeName(operand)}\``);
}

/** Negative, zero or positive, for values that have an order. */
export function compare(left: Value, right: Value): number {
  if (isNumber(left) && isNumber(right)) return left < right ? -1 : left > right ? 1 : 0;
  if (typeof left === 'string' && typeof right === 'string') return left < right ? -1 : left > right ? 1 : 0;
  if (typeof left === 'boolean' && typeof right === 'boolean') return Number(left) - Number(right);
  if ((left instanceof List && right instanceof List) || (left instanceof Tuple && right instanceof Tuple)) {
    for (const [at, item] of left.items.entries()) {
      if (at >= right.items.length) return 1;
      const order = compare(item, right.items[at]!);
      if (order !== 0) return order;
    }
    return left.items.length - right.items.length;
  }
  throw unsupported('cmp()', left, right);
}

function contains(collection: Value, item: Value): boolean {
  if (typeof collection === 'string' && typeof item === 'string') return collection.includes(item);
  if (collection instanceof List || collection instanceof Tuple) {
    return collection.items.some((other) => isEqual(other, item));
  }
  if (collection instanceof Dict) return collection.has(item);
  if (collection instanceof Range) {
    return typeof item === 'bigint' && [...collection.values()].includes(item);
  }
  throw unsupported('in', item, collection);
}

function add(left: Value, right: Value): Value {
  if (typeof left === 'string' && typeof right === 'string')
    return checked(left.length + right.length, () => left + right);
  if (left instanceof List && right instanceof List) return new List(joined(left, right));
  if (left instanceof Tuple && right instanceof Tuple) return new Tuple(joined(left, right));
  return arithmetic('+', left, right);
}

function joined(left: List | Tuple, right: List | Tuple): Value[] {
  return checked(left.items.length + right.items.length, () => [...left.items, ...right.items]);
}

function multiply(left: Value, right: Value): Value {
  if (typeof left === 'bigint' && !isNumber(right)) return multiply(right, left);
  if (typeof right !== 'bigint') return arithmetic('*', left, right);
  const times = right < 0n ? 0 : Number(right);
  if (typeof left === 'string') return checked(left.length * times, () => left.repeat(times));
  if (left instanceof List) return new List(repeated(left.items, times));
  if (left instanceof Tuple) return new Tuple(repeated(left.items, times));
  return arithmetic('*', left, right);
}

function repeated(items: readonly Value[], times: number): Value[] {
  return checked(items.length * times, () => Array.from({ length: times }, () => items).flat());
}

function checked<T>(size: number, make: () => T): T {
  if (size > LARGEST) throw new Failure('Value is too large');
  return make();
}

function arithmetic(operator: '+' | '-' | '*' | '/' | '//' | '%', left: Value, right: Value): Value {
  if (!isNumber(left) || !isNumber(right)) throw unsupported(operator, left, right);
  if ('/%'.includes(operator[0]!) && Number(right) === 0) throw new Failure(divisionByZero(operator, left, right));
  if (typeof left === 'bigint' && typeof right === 'bigint' && operator !== '/') return integer(operator, left, right);
  const [a, b] = [Number(left), Number(right)];
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;
    case '//':
      return Math.floor(a / b);
    case '%':
      return a - b * Math.floor(a / b);
  }
}

function integer(operator: '+' | '-' | '*' | '//' | '%', left: bigint, right: bigint): bigint {
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return bounded(left * right);
    case '//':
      return (left - modulo(left, right)) / right;
    case '%':
      return modulo(left, right);
  }
}

/** The remainder with the sign of the divisor. */
function modulo(left: bigint, right: bigint): bigint {
  const rest = left % right;
  return rest !== 0n && rest < 0n !== right < 0n ? rest + right : rest;
}

function bitwise(operator: '|' | '&' | '^' | '<<' | '>>', left: Value, right: Value): Value {
  if (typeof left !== 'bigint' || typeof right !== 'bigint') throw unsupported(operator, left, right);
  switch (operator) {
    case '|':
      return left | right;
    case '&':
      return left & right;
    case '^':
      return left ^ right;
    default: {
      if (right < 0n) throw new Failure(`Negative shift count: ${left} ${operator} ${right}`);
      if (operator === '>>') return left >> right;
      if (right > 100_000n) throw new Failure('Integer overflow');
      return bounded(left << right);
    }
  }
}

function bounded(value: bigint): bigint {
  if (BigInt.asIntN(100_000, value) !== value) throw new Failure('Integer overflow');
  return value;
}

function divisionByZero(operator: string, left: bigint | number, right: bigint | number): string {
  const text = (value: bigint | number): string => (typeof value === 'bigint' ? String(value) : float(value));
  if (operator === '//') return `Floor division by zero: ${text(left)} // ${text(right)}`;
  return operator === '/'
    ? `Float division by zero: ${text(left)} / ${text(right)}`
    : `Modulo by zero: ${text(left)} % ${text(right)}`;
}

function isNumber(value: Value): value is bigint | number {
  return typeof value === 'bigint' || typeof value === 'number';
}

function unsupported(operator: string, left: Value, right: Value): Failure {
  return new Failure(
    `Operation \`${operator}\` not supported for types \`${typeName(left)}\` and \`${typeName(right)}\``,
  );
}
