/** How lines are compared, from the strictest way to the most lenient. */
const normalizations: readonly ((line: string) => string)[] = [
  (line) => line,
  (line) => line.trimEnd(),
  (line) => line.trim(),
  (line) => plainPunctuation(line.trim()),
];

/**
 * Finds a run of lines in a text. Comparisons are tried in order: exact, without blanks at the end, without blanks around the
 * line, with punctuation in ASCII. The first one that finds the run anywhere decides.
 */
export class LineSearch {
  readonly #lines: readonly string[];
  /** The lines by the index of their normalization. */
  readonly #normalized = new Map<number, readonly string[]>();

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  /** The index of the run, from `from` on, or only at the end of the text; undefined when it is not found. */
  find(wanted: readonly string[], from: number, isAtEnd = false): number | undefined {
    const last = this.#lines.length - wanted.length;
    const first = isAtEnd ? Math.max(last, 0) : from;
    for (const [index, normalize] of normalizations.entries()) {
      const lines = this.#linesBy(index, normalize);
      const searched = wanted.map(normalize);
      for (let at = first; at <= last; at++) {
        if (searched.every((line, offset) => line === lines[at + offset])) return at;
      }
    }
    return undefined;
  }

  #linesBy(index: number, normalize: (line: string) => string): readonly string[] {
    const lines = this.#normalized.get(index) ?? this.#lines.map(normalize);
    this.#normalized.set(index, lines);
    return lines;
  }
}

/** Replaces typographic dashes, quotes and blanks by those of a keyboard. */
function plainPunctuation(line: string): string {
  return line
    .replace(/[\u2010-\u2015\u2212]/g, '-')
    .replace(/[\u2018-\u201b]/g, "'")
    .replace(/[\u201c-\u201f]/g, '"')
    .replace(/[\u00a0\u2002-\u200a\u202f\u205f\u3000]/g, ' ');
}
