/** A part of a source text, as offsets into it. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Position {
  /** From 1. */
  readonly line: number;
  /** From 1, in characters, not bytes or UTF-16 units. */
  readonly column: number;
}

/** One rules file: its name as the user wrote it, and its text. */
export class Source {
  readonly name: string;
  readonly text: string;
  readonly #lineStarts: readonly number[];

  constructor(name: string, text: string) {
    this.name = name;
    this.text = text;
    this.#lineStarts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  }

  position(offset: number): Position {
    const line = this.lineAt(offset);
    return { line, column: [...this.text.slice(this.lineStart(line), offset)].length + 1 };
  }

  lineAt(offset: number): number {
    let low = 0;
    let high = this.#lineStarts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.#lineStarts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  }

  lineStart(line: number): number {
    return this.#lineStarts[line - 1]!;
  }

  /** The text of a line without its end. */
  line(line: number): string {
    return this.text.slice(this.lineStart(line), this.#lineStarts[line] ?? this.text.length).replace(/\r?\n$/, '');
  }
}
