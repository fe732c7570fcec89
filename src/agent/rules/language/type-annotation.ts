import type { Expression } from './syntax.ts';
import { Dict, Failure, List, Tuple, typeName, type Value } from './value.ts';
import { str } from './value-text.ts';

/** Checks a value against the type annotation of a parameter, a variable or a function. */
export function checkAnnotation(value: Value, annotation: Expression, purpose: string): void {
  if (fits(value, annotation)) return;
  throw new Failure(
    `Value \`${str(value)}\` of type \`${typeName(value)}\` does not match the type annotation \`${typeText(annotation)}\` for ${purpose}`,
  );
}

const NAMES: Readonly<Record<string, string>> = { str: 'string', None: 'NoneType' };
const KNOWN = ['str', 'int', 'bool', 'float', 'None', 'list', 'dict', 'tuple', 'range'];

/** Whether a value has a type; unknown types match every value. */
function fits(value: Value, type: Expression): boolean {
  if (type.kind === 'name') return !KNOWN.includes(type.name) || typeName(value) === (NAMES[type.name] ?? type.name);
  if (type.kind === 'binary' && type.operator === '|') return fits(value, type.left) || fits(value, type.right);
  if (type.kind !== 'index' || type.target.kind !== 'name') return true;
  if (!fits(value, type.target)) return false;
  const { index: first, second } = type;
  if (value instanceof List) return value.items.every((item) => fits(item, first));
  if (value instanceof Dict && second) {
    return value.entries().every(([key, item]) => fits(key, first) && fits(item, second));
  }
  if (!(value instanceof Tuple)) return true;
  const types = second ? [first, second] : [first];
  return value.items.length === types.length && value.items.every((item, at) => fits(item, types[at]!));
}

function typeText(type: Expression): string {
  if (type.kind === 'name') return type.name;
  if (type.kind === 'binary') return alternatives(type).sort().join(' | ');
  if (type.kind !== 'index') return type.kind;
  const second = type.second ? `, ${typeText(type.second)}` : '';
  return `${typeText(type.target)}[${typeText(type.index)}${second}]`;
}

function alternatives(type: Expression): string[] {
  return type.kind === 'binary' ? [...alternatives(type.left), ...alternatives(type.right)] : [typeText(type)];
}
