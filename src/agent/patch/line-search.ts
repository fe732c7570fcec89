/** From the strictest comparison to the most forgiving. */
const readings: readonly ((line: string) => string)[] = [
  (line) => line,
  (line) => line.trimEnd(),
  (line) => line.trim(),
  (line) => plainPunctuation(line.trim()),
];

/**
 * Finds a run of lines, at the end of the text alone if asked. The first comparison under which it is found anywhere
 * decides: exactly, without blanks at the end, without blanks around it, with punctuation spelt in ASCII.
 */
export class LineSearch {
  readonly #lines: readonly string[];
  readonly #read = new Map<number, readonly string[]>();

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  find(wanted: readonly string[], from: number, isAtEnd = false): number | undefined {
    const last = this.#lines.length - wanted.length;
    const first = isAtEnd ? Math.max(last, 0) : from;
    for (const [index, reading] of readings.entries()) {
      const lines = this.#reading(index, reading);
      const searched = wanted.map(reading);
      for (let at = first; at <= last; at++) {
        if (searched.every((line, offset) => line === lines[at + offset])) return at;
      }
    }
    return undefined;
  }

  #reading(index: number, reading: (line: string) => string): readonly string[] {
    const known = this.#read.get(index) ?? this.#lines.map(reading);
    this.#read.set(index, known);
    return known;
  }
}

/** The characters that word processors put in the place of those on a keyboard. */
function plainPunctuation(line: string): string {
  return line
    .replace(/[\u2010-\u2015\u2212]/g, '-')
    .replace(/[\u2018-\u201b]/g, "'")
    .replace(/[\u201c-\u201f]/g, '"')
    .replace(/[\u00a0\u2002-\u200a\u202f\u205f\u3000]/g, ' ');
}
