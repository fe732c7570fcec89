import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const root = new URL('../', import.meta.url);
const textOf = (path: string): string => readFileSync(new URL(path, root), 'utf8');

describe('docs/audit.md', () => {
  it('names tests that exist, by file and title', () => {
    const missing = references().filter(({ file, title }) => !exists(file, title));

    expect(missing.map(({ line, file, title }) => `docs/audit.md:${line} ${file} › ${title}`)).toEqual([]);
  });
});

interface Reference {
  readonly line: number;
  readonly file: string;
  readonly title: string;
}

/** The second cell of a row: `FILE › TITLE`, further titles of that file behind `; `. `the same` is the file of the row above. */
function references(): Reference[] {
  let file = '';
  return textOf('docs/audit.md')
    .split('\n')
    .flatMap((row, index) => {
      const [before, , cell = ''] = row.split(/(?<!\\)\|/);
      if (before !== '' || !/[^-]/.test(cell) || cell.trim() === 'test') return [];
      return cell.split('; ').map((part) => {
        const [, named, title] = /^(?:([^›]*) › )?(.*)$/.exec(part.trim().replace(/^› /, ''))!;
        if (named !== undefined && named !== 'the same') file = named.replaceAll('`', '');
        return { line: index + 1, file, title: title! };
      });
    });
}

const testFiles: readonly string[] = ['src', 'test'].flatMap((folder) =>
  readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => `${folder}/${file}`),
);

/** Titles of groups around a test may come first. */
function exists(file: string, title: string): boolean {
  const ending = `/${file.replace(/(\.test)?(\.ts)?$/, '')}.test.ts`;
  const parts = title.replace(/ \(\d+\)$/, '').split(' › ');
  return testFiles
    .filter((path) => `/${path}`.endsWith(ending))
    .map(titlesOf)
    .some((titles) => parts.every((part) => titles.some((known) => matches(known, part))));
}

/** What stands for a value in a title. */
const VALUE = '\u0000';

/** What the tests of a file and their groups are called; where that is a value alone, every text of the file. */
function titlesOf(path: string): string[] {
  const source = textOf(path);
  const calls =
    /(?=(?<![.\w])(?:describe|it)\b(?:\.\w+)*(?:\((?!\s*['"`])[\s\S]*?\))?\(\s*(['"`])((?:\\.|(?!\1).)*)\1)/g;
  const titles = [...source.matchAll(calls)].map(([, , title]) => pattern(title!));
  if (!titles.includes(VALUE)) return titles;
  const texts = [...source.matchAll(/(['"`])((?:\\.|(?!\1).)*)\1/g)].map(([, , value]) => pattern(value!));
  return [...titles, ...texts].filter((title) => title !== VALUE);
}

const pattern = (literal: string): string =>
  literal.replace(/\$\{[^}]*\}|%[a-z]|\$\w+(?:\.\w+)*/g, VALUE).replace(/\\(.)/g, '$1');

/** Of a title the beginning is enough, and `…` stands for what is left out. A value can be anything. */
function matches(known: string, title: string): boolean {
  const words = known.split(VALUE);
  if (words.join('').length >= DISTINCT && beginsLike(title, words)) return true;
  return beginsLike(known, title.split('…'));
}

const beginsLike = (text: string, parts: readonly string[]): boolean =>
  new RegExp(`^${parts.map((part) => part.replace(/[^\w\s]/g, '\\$&')).join('[^]*')}`).test(text);

/** Fewer characters say nothing about a test. */
const DISTINCT = 8;
