import { fString, plainString } from './string-literal.ts';
import { keywords, reserved, type Token } from './token.ts';

const SYMBOLS =
  /(?:\/\/=|<<=|>>=|\*\*|\/\/|<<|>>|<=|>=|==|!=|->|\+=|-=|\*=|\/=|%=|&=|\|=|\^=|\.\.\.|[-+*/%&|^~<>=.,:;()[\]{}])/y;
const NAME = /[A-Za-z_][A-Za-z_0-9]*/y;
const FLOAT = /(?:[0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)/y;
const INTEGER = /(?:0[xX][0-9A-Fa-f]+|0[oO][0-7]+|0[bB][01]+|[0-9]+)/y;
const STRING_START = /(f[rR]?|[rR]f?)?("""|'''|"|')/y;

/** An error in the text of a token, with its span. */
export class LexerError extends Error {
  readonly start: number;
  readonly end: number;

  constructor(reason: string, start: number, end: number) {
    super(reason);
    this.start = start;
    this.end = end;
  }
}

/** Cuts a text into tokens. At the first error the list ends with an `invalid` token. */
export function tokenize(text: string): Token[] {
  return new Lexer(text, 0).run();
}

/** The tokens of an expression in an f-string, up to the brace or conversion that ends it. */
export function embeddedTokens(text: string, start: number): { tokens: Token[]; end: number } {
  return new Lexer(text, start).runEmbedded();
}

class Lexer {
  readonly #text: string;
  readonly #tokens: Token[] = [];
  readonly #indents: number[] = [];
  #at: number;
  #openBrackets = 0;

  constructor(text: string, start: number) {
    this.#text = text;
    this.#at = start;
  }

  run(): Token[] {
    try {
      this.#indentation(0);
      while (this.#at < this.#text.length) this.#next();
      const end = { start: this.#at, end: this.#at };
      this.#tokens.push({ kind: 'newline', ...end });
      for (const _ of this.#indents) this.#tokens.push({ kind: 'dedent', ...end });
      this.#tokens.push({ kind: 'end', ...end });
    } catch (error) {
      if (!(error instanceof LexerError)) throw error;
      this.#tokens.push({ kind: 'invalid', reason: error.message, start: error.start, end: error.end });
    }
    return this.#tokens;
  }

  runEmbedded(): { tokens: Token[]; end: number } {
    this.#openBrackets = 1;
    const start = this.#at;
    while (this.#at < this.#text.length) {
      const character = this.#text[this.#at];
      if (
        this.#openBrackets === 1 &&
        (character === '}' || /!r}|!s}/y.test(this.#text.slice(this.#at, this.#at + 3)))
      ) {
        this.#tokens.push({ kind: 'expressionEnd', start: this.#at, end: this.#at + 1 });
        return { tokens: this.#tokens, end: this.#at };
      }
      this.#next();
    }
    throw new LexerError('f-string expression is missing closing `}`', start, start + 1);
  }

  #next(): void {
    const text = this.#text;
    const start = this.#at;
    const character = text[start]!;
    if (character === '\t') throw new LexerError('tabs are not allowed', start, start + 1);
    else if (/[ \r]/.test(character)) this.#at += 1;
    else if (character === '#') this.#at = endOfLine(text, start);
    else if (character === '\\' && /^\\\r?\n/.test(text.slice(start, start + 3)))
      this.#at = text.indexOf('\n', start) + 1;
    else if (character === '\n') this.#newline();
    else if (this.#take(STRING_START)) this.#string(start);
    else this.#word(start);
  }

  #newline(): void {
    const start = this.#at;
    this.#at += 1;
    if (this.#openBrackets > 0) return;
    this.#tokens.push({ kind: 'newline', start, end: this.#at });
    this.#indentation(start);
  }

  #string(start: number): void {
    STRING_START.lastIndex = start;
    const [opening, prefix = '', quote] = STRING_START.exec(this.#text)!;
    const isRaw = /r/i.test(prefix);
    const from = start + opening.length;
    if (prefix.includes('f')) {
      const { parts, end, problem } = fString(this.#text, from, quote!, isRaw);
      this.#tokens.push({ kind: 'fstring', parts, openingEnd: from, problem, start, end });
      this.#at = end;
    } else {
      const { value, end } = plainString(this.#text, start, from, quote!, isRaw);
      this.#tokens.push({ kind: 'string', value, start, end });
      this.#at = end;
    }
  }

  #word(start: number): void {
    const name = this.#take(NAME);
    if (name) {
      if (reserved.has(name)) throw this.#unreadable(`cannot use reserved keyword \`${name}\``, start);
      this.#tokens.push({ kind: keywords.has(name) ? 'keyword' : 'name', text: name, start, end: this.#at });
      return;
    }
    const float = this.#take(FLOAT);
    if (float) {
      this.#tokens.push({ kind: 'float', value: Number(float), start, end: this.#at });
      return;
    }
    const integer = this.#take(INTEGER);
    if (integer) {
      if (/^0[0-9]/.test(integer)) throw this.#unreadable(`integer cannot have leading 0, got \`${integer}\``, start);
      this.#tokens.push({ kind: 'int', value: BigInt(integer), start, end: this.#at });
      return;
    }
    const symbol = this.#take(SYMBOLS);
    if (!symbol) {
      const unknown = String.fromCodePoint(this.#text.codePointAt(start)!);
      throw new LexerError(`invalid input \`${unknown}\``, start, start + unknown.length);
    }
    if ('([{'.includes(symbol)) this.#openBrackets += 1;
    if (')]}'.includes(symbol)) this.#openBrackets -= 1;
    this.#tokens.push({ kind: 'symbol', text: symbol, start, end: this.#at });
  }

  /** Reads the indentation of the next line that is neither blank nor a comment; refuses tabs. */
  #indentation(newline: number): void {
    const lineStart = /(?:[ \t\r]*(?:#[^\n]*)?\n)*/y;
    lineStart.lastIndex = this.#at;
    const skipped = lineStart.exec(this.#text)![0];
    const afterNewline = this.#at;
    const start = afterNewline + skipped.length;
    const blanks = /[ \t\r]*/y;
    blanks.lastIndex = start;
    const run = blanks.exec(this.#text)![0];
    const end = start + run.length;
    if (end === this.#text.length || this.#text[end] === '#') {
      this.#at = end;
      return;
    }
    if (run.includes('\t')) throw new LexerError('tabs are not allowed', newline, newline);
    this.#at = end;
    this.#adjust([...run].filter((character) => character === ' ').length, { newline, start, end });
  }

  #adjust(indent: number, { newline, start, end }: { newline: number; start: number; end: number }): void {
    if (indent > (this.#indents.at(-1) ?? 0)) {
      this.#indents.push(indent);
      this.#tokens.push({ kind: 'indent', start, end });
      return;
    }
    while (indent < (this.#indents.at(-1) ?? 0)) {
      this.#indents.pop();
      if (indent > (this.#indents.at(-1) ?? 0)) throw new LexerError('incorrect indentation', newline, end);
      this.#tokens.push({ kind: 'dedent', start, end: start });
    }
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found) this.#at += found.length;
    return found;
  }

  #unreadable(reason: string, start: number): LexerError {
    return new LexerError(reason, start, this.#at);
  }
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
}
