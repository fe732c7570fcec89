import { Failure, Tuple, typeName, type Value } from './value.ts';
import { float, repr, str } from './value-text.ts';

/** The `%` operator on strings. */
export function formatPercent(format: string, right: Value): string {
  const values = right instanceof Tuple ? [...right.items] : [right];
  let used = 0;
  const next = (): Value => {
    const value = values[used];
    used += 1;
    if (value === undefined) throw new Failure('Not enough arguments for format string');
    return value;
  };
  const text = format.replace(/%(.?)/gs, (_, conversion: string) => {
    if (conversion === '') throw new Failure('Incomplete format');
    return conversion === '%' ? '%' : converted(conversion, next);
  });
  if (used < values.length) throw new Failure('Too many arguments for format string');
  return text;
}

function converted(conversion: string, next: () => Value): string {
  if (!'srdoxXefg'.includes(conversion)) throw new Failure(`Unsupported format character: '${conversion}'`);
  const value = next();
  switch (conversion) {
    case 's':
      return str(value);
    case 'r':
      return repr(value);
    case 'd':
    case 'o':
    case 'x':
    case 'X': {
      if (typeof value !== 'bigint' && typeof value !== 'number') throw unformattable(conversion, value);
      const whole = typeof value === 'bigint' ? value : BigInt(Math.trunc(value));
      const digits = whole.toString({ d: 10, o: 8, x: 16, X: 16 }[conversion]);
      return conversion === 'X' ? digits.toUpperCase() : digits;
    }
    case 'e':
    case 'f':
    case 'g': {
      if (typeof value !== 'bigint' && typeof value !== 'number') throw unformattable(conversion, value);
      if (conversion === 'f') return Number(value).toFixed(6);
      if (conversion === 'g') return float(Number(value));
      return Number(value)
        .toExponential(6)
        .replace(/e([-+])(\d)$/, 'e$10$2');
    }
    default:
      return '';
  }
}

function unformattable(conversion: string, value: Value): Failure {
  return new Failure(`Operation \`format(%${conversion})\` not supported on type \`${typeName(value)}\``);
}

/** `str.format`: fields by order, by number or by name; doubled braces stand for themselves. */
export function formatBraces(format: string, positional: readonly Value[], named: ReadonlyMap<string, Value>): string {
  let automatic = 0;
  return format.replace(/\{\{|\}\}|\{([^{}]*)\}|[{}]/g, (found, field: string | undefined) => {
    if (found === '{{' || found === '}}') return found[0]!;
    if (field === undefined)
      throw new Failure(
        found === '{'
          ? `Unmatched '{' in format string \`${format}\``
          : `Standalone '}' in format string \`${format}\``,
      );
    const [, name = '', conversion] = /^([^!]*)(?:!(.*))?$/s.exec(field)!;
    const value = /^\d*$/.test(name) ? positional[name === '' ? automatic++ : Number(name)] : named.get(name);
    if (value === undefined) {
      throw new Failure(
        /^\d*$/.test(name) ? 'Not enough parameters in format string' : `Key \`${name}\` was not found`,
      );
    }
    if (conversion !== undefined && conversion !== 's' && conversion !== 'r') {
      throw new Failure(`Invalid conversion in format string \`${format}\``);
    }
    return conversion === 'r' ? repr(value) : str(value);
  });
}
