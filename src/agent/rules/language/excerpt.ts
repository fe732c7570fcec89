import type { Source, Span } from './source.ts';

/** Shows a span: file, line and column, then its lines with the span marked. */
export function excerpt(source: Source, span: Span): string {
  if (span.start === source.text.length && /\n$/.test(source.text)) return `--> ${source.name}:1:1\n |\n |\n`;
  const { line, column } = source.position(span.start);
  const lastLine = source.lineAt(span.end);
  const width = String(lastLine).length;
  const margin = `${' '.repeat(width)} |`;
  const numbered = (number: number, text: string): string => `${String(number).padStart(width)} | ${text}`;
  const rows = isOneLine(source, span)
    ? [
        numbered(line, source.line(line)),
        `${margin} ${oneLineMark(source, span)}`,
        ...(lastLine > line && span.end < source.text.length ? [numbered(lastLine, source.line(lastLine))] : []),
      ]
    : manyLines(source, span, numbered, margin);
  return [`${' '.repeat(width)}--> ${source.name}:${line}:${column}`, margin, ...rows, margin, ''].join('\n');
}

/** Whether a span is shown on one line; one that ends with its newline is. */
function isOneLine(source: Source, { start, end }: Span): boolean {
  return source.lineAt(start) === source.lineAt(end) || (end - start === 1 && source.text[start] === '\n');
}

function oneLineMark(source: Source, { start, end }: Span): string {
  const marked = source.text.slice(start, end);
  return ' '.repeat(columnsBefore(source, start)) + '^'.repeat(marked === '\n' ? 1 : displayWidth(marked));
}

function manyLines(
  source: Source,
  { start, end }: Span,
  numbered: (number: number, text: string) => string,
  margin: string,
): string[] {
  const first = source.lineAt(start);
  const last = source.lineAt(end);
  const before = columnsBefore(source, start);
  const opening =
    before === 0
      ? [numbered(first, `/ ${source.line(first)}`)]
      : [numbered(first, `  ${source.line(first)}`), `${margin}  ${'_'.repeat(before + 1)}^`];
  const between = Array.from({ length: last - first }, (_, index) => first + 1 + index);
  return [
    ...opening,
    ...between.map((line) => numbered(line, `| ${source.line(line)}`)),
    `${margin} |${'_'.repeat(Math.max(1, columnsBefore(source, end)))}^`,
  ];
}

function columnsBefore(source: Source, offset: number): number {
  return displayWidth(source.text.slice(source.lineStart(source.lineAt(offset)), offset));
}

/** The columns of a text in a terminal: none for control and joining characters, two for East Asian wide ones. */
function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) {
    if (/[\p{Cc}\p{Cf}\p{Mn}\p{Me}]/u.test(character)) continue;
    width +=
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u.test(
        character,
      )
        ? 2
        : 1;
  }
  return width;
}
