import { isObject, type Json } from './json.ts';

/** Placeholders that stand for a new value wherever they occur; all others keep one value throughout a transcript. */
const passing: Record<string, string> = { any: '.+', date: '.+', timestamp: '[0-9T:.-]+Z', ms: '\\d+', port: '\\d+' };

const placeholder = /<([a-zA-Z]+\d*)>/g;

const quote = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** The values that the placeholders of one transcript have in one run. */
export class Placeholders {
  readonly #values: Map<string, string>;

  constructor(values: Record<string, string> = {}) {
    this.#values = new Map(Object.entries(values));
  }

  /** The text with every placeholder replaced; one without a value stays as it is. */
  fill(text: string): string {
    return text.replace(placeholder, (whole, name: string) => this.#values.get(name) ?? whole);
  }

  /** A message to send: placeholders replaced at every depth, zeros in base64 written out. */
  fillJson(value: Json): Json {
    if (typeof value === 'string') return this.fill(value);
    if (Array.isArray(value)) return value.map((item) => this.fillJson(item));
    if (!isObject(value)) return value;
    if (typeof value.$base64Zeros === 'number') return Buffer.alloc(value.$base64Zeros).toString('base64');
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.fillJson(item)]));
  }

  /** Whether the text fits the pattern; placeholders met for the first time take their value from it. */
  match(pattern: string, text: string): boolean {
    const fresh: string[] = [];
    let source = '';
    let from = 0;
    for (const found of pattern.matchAll(placeholder)) {
      const name = found[1] ?? '';
      source += quote(pattern.slice(from, found.index));
      from = found.index + found[0].length;
      const value = this.#values.get(name);
      if (name in passing) source += `(?:${passing[name]})`;
      else if (value !== undefined) source += quote(value);
      else if (fresh.includes(name)) source += `\\${fresh.indexOf(name) + 1}`;
      else {
        fresh.push(name);
        source += '(.+?)';
      }
    }
    const match = new RegExp(`^${source}${quote(pattern.slice(from))}$`, 's').exec(text);
    if (match === null) return false;
    for (const [index, name] of fresh.entries()) this.#values.set(name, match[index + 1] ?? '');
    return true;
  }
}
