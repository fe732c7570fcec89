import { LanguageError } from './rules-error.ts';
import type { Source, Span } from './source.ts';
import { describeToken, type Token } from './token.ts';

/** Nesting of expressions: more than rules need, and far less than the call stack holds. */
const DEEPEST = 200;

/** Walks over the tokens of one source; errors name the expected token. */
export class TokenCursor {
  readonly source: Source;
  readonly #tokens: readonly Token[];
  #index = 0;
  #lastEnd: number;
  #depth = 0;
  readonly #deferred: { readonly error: LanguageError; readonly rank: number }[] = [];

  constructor(source: Source, tokens: readonly Token[]) {
    this.source = source;
    this.#tokens = tokens;
    this.#lastEnd = tokens[0]?.start ?? 0;
  }

  get current(): Token {
    return this.#tokens[this.#index]!;
  }

  get start(): number {
    return this.current.start;
  }

  /** The span from `start` to the end of the last token taken. */
  since(start: number): Span {
    return { start, end: this.#lastEnd };
  }

  take(): Token {
    const token = this.current;
    this.#index += 1;
    this.#lastEnd = token.end;
    return token;
  }

  isSymbol(text: string): boolean {
    const token = this.current;
    return token.kind === 'symbol' && token.text === text;
  }

  isKeyword(text: string): boolean {
    const token = this.current;
    return token.kind === 'keyword' && token.text === text;
  }

  eat(text: string): boolean {
    const isThere = this.isSymbol(text) || this.isKeyword(text);
    if (isThere) this.take();
    return isThere;
  }

  expectSymbol(text: string): void {
    if (!this.isSymbol(text)) throw this.unexpected(`symbol '${text}'`);
    this.take();
  }

  expectKeyword(text: string): void {
    if (!this.isKeyword(text)) throw this.unexpected(`keyword '${text}'`);
    this.take();
  }

  expect(kind: 'newline' | 'indent' | 'expressionEnd', name: string): void {
    if (this.current.kind !== kind) throw this.unexpected(name);
    this.take();
  }

  expectName(): { name: string } & Span {
    const token = this.current;
    if (token.kind !== 'name') throw this.unexpected('identifier');
    this.take();
    return { name: token.text, start: token.start, end: token.end };
  }

  skipNewlines(): void {
    while (this.current.kind === 'newline') this.take();
  }

  get isEndOfBlock(): boolean {
    return this.current.kind === 'dedent' || this.current.kind === 'end';
  }

  eatDedent(): void {
    if (this.current.kind === 'dedent') this.take();
  }

  unexpected(expected: string): LanguageError {
    const token = this.current;
    if (token.kind === 'invalid') return this.error(`Parse error: ${token.reason}`, token);
    const span = token.kind === 'fstring' ? { start: token.start, end: token.openingEnd } : token;
    return this.error(`Parse error: unexpected ${describeToken(token)}, expected ${expected}`, span);
  }

  /** Parses an expression one level deeper than the one around it. */
  nest<T>(parse: () => T): T {
    this.#depth += 1;
    if (this.#depth > DEEPEST) throw this.error('Parse error: expression is nested too deeply', this.current);
    const parsed = parse();
    this.#depth -= 1;
    return parsed;
  }

  /** Records a mistake that is reported only if the whole text can be parsed; of several, the one of the lowest rank. */
  deferError(rank: number, reason: string, span: Span): void {
    this.#deferred.push({ rank, error: this.error(reason, span) });
  }

  /** Throws the first deferred error, if any. */
  finish(): void {
    const [first] = this.#deferred.sort((left, right) => left.rank - right.rank);
    if (first) throw first.error;
  }

  error(reason: string, span: Span): LanguageError {
    return new LanguageError(reason, this.source, span);
  }
}
