import { embeddedTokens, LexerError } from './lexer.ts';
import type { FStringPart, Problem } from './token.ts';

/** Reads the rest of a string whose opening quote ends at `from`. */
export function plainString(
  text: string,
  start: number,
  from: number,
  quote: string,
  isRaw: boolean,
): { value: string; end: number } {
  let value = '';
  let at = from;
  while (at < text.length) {
    if (text.startsWith(quote, at)) return { value, end: at + quote.length };
    if (text[at] === '\n' && quote.length === 1) break;
    const [piece, next] = character(text, at, isRaw);
    value += piece;
    at = next;
  }
  throw new LexerError('unfinished string literal', start, at);
}

/** Reads the rest of an f-string up to its end or first error. */
export function fString(
  text: string,
  from: number,
  quote: string,
  isRaw: boolean,
): { parts: FStringPart[]; end: number; problem?: Problem } {
  const parts: FStringPart[] = [];
  try {
    return { parts, end: readParts(parts, text, from, quote, isRaw) };
  } catch (error) {
    if (!(error instanceof LexerError)) throw error;
    const { message: reason, start, end } = error;
    return { parts, end: text.length, problem: { reason, start, end } };
  }
}

/** Adds the parts up to the closing quote, and returns the offset after it. A doubled brace stands for itself. */
function readParts(parts: FStringPart[], text: string, from: number, quote: string, isRaw: boolean): number {
  let literal = '';
  let at = from;
  while (at < text.length) {
    if (text.startsWith(quote, at)) {
      parts.push(literal);
      return at + quote.length;
    }
    if (text[at] === '\n' && quote.length === 1) break;
    if (text.startsWith('{{', at) || text.startsWith('}}', at)) {
      literal += text[at];
      at += 2;
    } else if (text[at] === '{') {
      const { tokens, end } = embeddedTokens(quote.length === 1 ? oneLine(text, at, quote) : text, at + 1);
      const conversion = text.startsWith('!r', end) ? 'repr' : 'str';
      parts.push(literal, { tokens, conversion });
      literal = '';
      at = end + (text[end] === '!' ? 3 : 1);
    } else if (text[at] === '}') {
      throw new LexerError('invalid input `}`', at, at + 1);
    } else {
      const [piece, next] = character(text, at, isRaw);
      literal += piece;
      at = next;
    }
  }
  throw new LexerError('unfinished string literal', at, at);
}

/** The text up to the end of the line, or to the closing quote where no brace comes before it: an embedded expression ends there. */
function oneLine(text: string, from: number, quote: string): string {
  const line = text.slice(0, text.indexOf('\n', from) < 0 ? text.length : text.indexOf('\n', from));
  const brace = line.indexOf('}', from);
  const close = line.indexOf(quote, from);
  return brace < 0 && close >= 0 ? line.slice(0, close) : line;
}

const SIMPLE: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  a: '\x07',
  b: '\b',
  f: '\f',
  v: '\v',
  '\n': '',
  '"': '"',
  "'": "'",
  '\\': '\\',
};

/** The value of one character or escape, and the offset after it. Carriage returns have no value. */
function character(text: string, at: number, isRaw: boolean): [piece: string, next: number] {
  if (text[at] === '\r') return ['', at + 1];
  if (text[at] !== '\\') return [text[at]!, at + 1];
  const next = text[at + 1];
  if (next === undefined && isRaw) return ['', at + 1];
  if (next === undefined) throw new LexerError('missing string escape sequence, only saw `\\`', at, at + 1);
  if (isRaw) return [next === '"' || next === "'" ? next : `\\${next}`, at + 2];
  if (next === '\r' && text[at + 2] === '\n') return ['', at + 3];
  if (/[xuU]/.test(next)) return numbered(text, at, { x: 2, u: 4, U: 8 }[next]!);
  const octal = /^[0-7]{1,3}/.exec(text.slice(at + 1, at + 4))?.[0];
  if (octal) return [String.fromCodePoint(Number.parseInt(octal, 8)), at + 1 + octal.length];
  return [SIMPLE[next] ?? `\\${next}`, at + 2];
}

function numbered(text: string, at: number, digits: number): [piece: string, next: number] {
  const written = text.slice(at + 2, at + 2 + digits);
  const end = at + 2 + digits;
  const code = Number.parseInt(written, 16);
  const isValid = written.length === digits && /^[0-9A-Fa-f]+$/.test(written);
  if (!isValid || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
    const stop = at + 2 + (isValid ? digits : /^[0-9A-Fa-f]*/.exec(written)![0].length + 1);
    throw new LexerError(`invalid string escape sequence \`${text.slice(at + 1, stop)}\``, at, stop);
  }
  return [String.fromCodePoint(code), end];
}
