import { encodeUtf8 } from '../../../base/index.ts';

/** Malformed arguments. The messages are those of the reference's parser, which models know. */
export class ArgumentsError extends Error {
  override readonly name = 'ArgumentsError';
}

/**
 * Parses JSON text byte by byte; errors name line and column as the reference does: the position after the last byte taken
 * (`error`), or of the next byte, which was only peeked at (`nextError`).
 */
export class JsonCursor {
  readonly #bytes: Uint8Array;
  #at: number;

  constructor(text: string | Uint8Array, at = 0) {
    this.#bytes = typeof text === 'string' ? encodeUtf8(text) : text;
    this.#at = at;
  }

  /** A second cursor at the same position. */
  copy(): JsonCursor {
    return new JsonCursor(this.#bytes, this.#at);
  }

  /** An error about the bytes that have been taken. */
  error(message: string): ArgumentsError {
    return this.#errorAt(message, this.#at);
  }

  /** An error about the next byte. */
  nextError(message: string): ArgumentsError {
    return this.#errorAt(message, Math.min(this.#bytes.length, this.#at + 1));
  }

  /** The next character that is not a blank; undefined at the end. */
  peek(): string | undefined {
    while (BLANKS.has(this.#bytes[this.#at]!)) this.#at++;
    return this.#charAt(this.#at);
  }

  /** The next character that is not a blank; throws at the end. */
  peekValue(): string {
    const next = this.peek();
    if (next === undefined) throw this.nextError('EOF while parsing a value');
    return next;
  }

  take(): void {
    this.#at++;
  }

  /** Takes a literal, whose first character has been peeked at. */
  word(word: 'null' | 'true' | 'false'): void {
    this.take();
    for (const expected of word.slice(1)) {
      const char = this.#charAt(this.#at);
      if (char === undefined) throw this.error('EOF while parsing a value');
      this.take();
      if (char !== expected) throw this.error('expected ident');
    }
  }

  /** Takes a number; returns its text. */
  number(): string {
    const start = this.#at;
    if (this.#charAt(this.#at) === '-') this.take();
    const first = this.#charAt(this.#at);
    if (!isDigit(first)) {
      if (first !== undefined) this.take();
      throw this.error(first === undefined ? 'EOF while parsing a value' : 'invalid number');
    }
    this.take();
    if (first === '0' && isDigit(this.#charAt(this.#at))) throw this.nextError('invalid number');
    this.#digits();
    if (this.#charAt(this.#at) === '.') {
      this.take();
      if (!isDigit(this.#charAt(this.#at))) throw this.#badDigit(false);
      this.#digits();
    }
    if (/[eE]/.test(this.#charAt(this.#at) ?? '')) this.#exponent();
    return this.#text(start);
  }

  /** Takes a string, from its opening quote on. Lenient: it is skipped, so its surrogates need not match. */
  string(lenient = false): string {
    const start = this.#at;
    this.take();
    for (;;) {
      const char = this.#charAt(this.#at);
      if (char === undefined) throw this.error('EOF while parsing a string');
      if (char < ' ') throw this.error('control character (\\u0000-\\u001F) found while parsing a string');
      this.take();
      if (char === '"') break;
      if (char === '\\') this.#escape(lenient);
    }
    return lenient ? '' : (JSON.parse(this.#text(start)) as string);
  }

  /** Skips a value of any shape. Open brackets are kept in a list, as nesting may be deeper than the call stack. */
  skip(): void {
    const open: ('[' | '{')[] = [];
    for (;;) {
      const char = this.peekValue();
      const opens = char === '[' || char === '{';
      if (opens) this.take();
      else this.#skipScalar(char);
      if (opens) open.push(char);
      if (!this.#skipToNextValue(open, !opens)) return;
    }
  }

  /** Throws unless only blanks follow. */
  end(): void {
    if (this.peek() !== undefined) throw this.nextError('trailing characters');
  }

  /** Skips separators, keys and closing brackets up to the next value; false when no bracket is open. */
  #skipToNextValue(open: ('[' | '{')[], afterValue: boolean): boolean {
    let acceptsComma = afterValue;
    for (;;) {
      const frame = open.at(-1);
      if (frame === undefined) return false;
      const list = frame === '[';
      const char = this.peek();
      if (char === undefined) throw this.nextError(`EOF while parsing ${list ? 'a list' : 'an object'}`);
      if (char !== (list ? ']' : '}')) {
        if (acceptsComma && char !== ',') throw this.nextError(`expected \`,\` or \`${list ? ']' : '}'}\``);
        if (acceptsComma) this.take();
        if (!list) this.#skipKey();
        return true;
      }
      this.take();
      open.pop();
      acceptsComma = true;
    }
  }

  #skipKey(): void {
    const quote = this.peek();
    if (quote === undefined) throw this.nextError('EOF while parsing an object');
    if (quote !== '"') throw this.nextError('key must be a string');
    this.string(true);
    this.colon();
  }

  colon(): void {
    const char = this.peek();
    if (char === undefined) throw this.nextError('EOF while parsing an object');
    if (char !== ':') throw this.nextError('expected `:`');
    this.take();
  }

  #skipScalar(char: string): void {
    if (char === 'n') this.word('null');
    else if (char === 't') this.word('true');
    else if (char === 'f') this.word('false');
    else if (char === '"') this.string(true);
    else if (char === '-' || isDigit(char)) this.number();
    else throw this.nextError('expected value');
  }

  #escape(lenient: boolean): void {
    const char = this.#charAt(this.#at);
    if (char === undefined) throw this.error('EOF while parsing a string');
    this.take();
    if (char === 'u') this.#unicode(lenient);
    else if (!'"\\/bfnrt'.includes(char)) throw this.error('invalid escape');
  }

  #unicode(lenient: boolean): void {
    const unit = this.#hex();
    if (lenient || unit < 0xd800 || unit > 0xdfff) return;
    if (unit >= 0xdc00) throw this.error('lone leading surrogate in hex escape');
    for (const expected of '\\u') {
      const char = this.#charAt(this.#at);
      if (char === undefined) throw this.error('EOF while parsing a string');
      this.take();
      if (char !== expected) throw this.error('unexpected end of hex escape');
    }
    const second = this.#hex();
    if (second < 0xdc00 || second > 0xdfff) throw this.error('lone leading surrogate in hex escape');
  }

  #hex(): number {
    const digits = this.#text(this.#at, this.#at + 4);
    const isShort = this.#at + 4 > this.#bytes.length;
    this.#at = Math.min(this.#at + 4, this.#bytes.length);
    if (isShort) throw this.error('EOF while parsing a string');
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw this.error('invalid escape');
    return Number.parseInt(digits, 16);
  }

  #exponent(): void {
    this.take();
    if (/[+-]/.test(this.#charAt(this.#at) ?? '')) this.take();
    if (!isDigit(this.#charAt(this.#at))) throw this.#badDigit(true);
    this.#digits();
  }

  /** A missing digit: the reference's position is before the byte after a point, and behind the byte after an exponent. */
  #badDigit(takes: boolean): ArgumentsError {
    if (this.#charAt(this.#at) === undefined) return this.nextError('EOF while parsing a value');
    if (!takes) return this.nextError('invalid number');
    this.take();
    return this.error('invalid number');
  }

  #digits(): void {
    while (isDigit(this.#charAt(this.#at))) this.take();
  }

  #charAt(at: number): string | undefined {
    const byte = this.#bytes[at];
    return byte === undefined ? undefined : String.fromCharCode(byte);
  }

  #text(start: number, end = this.#at): string {
    return Buffer.from(this.#bytes.subarray(start, end)).toString();
  }

  #errorAt(message: string, at: number): ArgumentsError {
    const before = this.#bytes.subarray(0, at);
    const line = before.reduce((lines, byte) => lines + (byte === NEWLINE ? 1 : 0), 1);
    return new ArgumentsError(`${message} at line ${line} column ${at - (before.lastIndexOf(NEWLINE) + 1)}`);
  }
}

export const isDigit = (char: string | undefined): boolean => char !== undefined && char >= '0' && char <= '9';

const NEWLINE = 0x0a;
const BLANKS: ReadonlySet<number> = new Set([0x20, 0x0a, 0x0d, 0x09]);
