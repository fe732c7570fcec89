import { excerpt } from './excerpt.ts';
import type { Position, Source, Span } from './source.ts';

/** A running call: its position, and the function that made it. */
export interface CallFrame {
  readonly caller: string;
  readonly span: Span;
}

/** A mistake in rules. The message is for the command line, `position` for editors. */
export class RulesError extends Error {
  override readonly name = 'RulesError';
  readonly source: string;
  readonly position: Position;

  constructor(message: string, source: Source, span: Span) {
    super(message);
    this.source = source.name;
    this.position = source.position(span.start);
  }
}

/** A mistake in the program: the message has a traceback and an excerpt of the text. */
export class LanguageError extends RulesError {
  readonly reason: string;

  constructor(reason: string, source: Source, span: Span, frames: readonly CallFrame[] = []) {
    super(`starlark error: ${traceback(source, frames)}error: ${reason}\n${excerpt(source, span)}`, source, span);
    this.reason = reason;
  }
}

const LONGEST_LINE = 80;

function traceback(source: Source, frames: readonly CallFrame[]): string {
  if (frames.length === 0) return '';
  const entries = frames.map(({ caller, span }) => {
    const { line } = source.position(span.start);
    return `  * ${source.name}:${line}, in ${caller}\n      ${shortened(source.line(line).trim())}\n`;
  });
  return `Traceback (most recent call last):\n${entries.join('')}`;
}

function shortened(line: string): string {
  const characters = [...line];
  if (characters.length <= LONGEST_LINE) return line;
  return `${characters.slice(0, LONGEST_LINE - 3).join('')}...`;
}
