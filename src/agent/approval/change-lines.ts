import { shownText, shownWord } from '../rules/index.ts';
import type { ChangedFile } from './approver.ts';

/** As many lines as users read before they decide. */
const MOST_LINES = 60;
const LONGEST_LINE = 200;

/**
 * The lines that show changes to files: the name of every file, and below it its changed lines as far as there is room.
 * Changed lines are indented further and begin with a sign, so none can be taken for the name of a file.
 */
export function changeLines(changes: readonly ChangedFile[]): string[] {
  let room = MOST_LINES;
  return changes.flatMap(({ kind, path, movedTo, diff }) => {
    const shown = diff.slice(0, room);
    room -= shown.length;
    const left = diff.length - shown.length;
    return [
      `${kind} ${shownWord(path)}${movedTo === undefined ? '' : ` to ${shownWord(movedTo)}`}`,
      ...shown.map((line) => `    ${line.slice(0, 1)}${written(shortened(line).slice(1))}`),
      ...(left === 0 ? [] : [`    (${left} more ${left === 1 ? 'line' : 'lines'})`]),
    ];
  });
}

/** The text of a changed line. Tabs stay as they are: many files have them in most lines, and they hide nothing. */
function written(line: string): string {
  const isPlain = shownText(line.replaceAll('\t', ' ')) === line.replaceAll('\t', ' ');
  return isPlain ? line : shownText(line);
}

const shortened = (line: string): string => (line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line);
