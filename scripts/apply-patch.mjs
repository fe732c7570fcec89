import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Applies a unified diff to the files of a folder. A change is found by the lines it names, wherever they have moved to, so
 * one diff serves several releases of a program; one whose lines are missing or not unique is an error.
 */
export function applyPatch(folder, patch) {
  for (const { name, isNew, changes } of filesOf(patch)) {
    const file = join(folder, name);
    const text = changes.reduce((before, change) => applied(before, change, name), isNew ? '' : read(file));
    writeFileSync(file, text, 'latin1');
  }
}

// Sources are not always UTF-8: one byte, one character.
const read = (file) => readFileSync(file, 'latin1');

function filesOf(patch) {
  const files = [];
  for (const line of patch.split('\n')) {
    if (line.startsWith('--- ')) {
      files.push({ name: '', isNew: line === '--- /dev/null', changes: [] });
    } else if (line.startsWith('+++ ')) {
      files.at(-1).name = line.slice('+++ b/'.length);
    } else if (line.startsWith('@@ ')) {
      files.at(-1).changes.push({ before: '', after: '' });
    } else if (files.length > 0 && line !== '') {
      const change = files.at(-1).changes.at(-1);
      const text = `${Buffer.from(line.slice(1)).toString('latin1')}\n`;
      if (line[0] !== '+') change.before += text;
      if (line[0] !== '-') change.after += text;
    }
  }
  return files;
}

function applied(text, { before, after }, name) {
  const at = text.indexOf(before);
  if (at < 0 || (before !== '' && text.indexOf(before, at + 1) >= 0)) {
    throw new Error(`the patch does not fit ${name}: these lines are expected once:\n${before}`);
  }
  return text.slice(0, at) + after + text.slice(at + before.length);
}
