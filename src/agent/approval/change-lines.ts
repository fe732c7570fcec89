import { shownText, shownWord } from '../rules/index.ts';
import type { ChangedFile } from './approver.ts';

/** Enough to see the point of a change: users decide without reading more. */
const MOST_LINES = 60;
const LONGEST_LINE = 200;

/**
 * Changes to files as lines to be shown: the name of every file, and below it as much as there is room for of what is
 * written. What is written is indented further and begins with a sign, so it cannot be taken for the name of a file.
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

/** Tabs stay as they are: they are in every other line of many files, and hide nothing. */
function written(line: string): string {
  const isPlain = shownText(line.replaceAll('\t', ' ')) === line.replaceAll('\t', ' ');
  return isPlain ? line : shownText(line);
}

const shortened = (line: string): string => (line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line);
