import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LocalFileSystem } from '../../../src/host/files/index.ts';
import { PathUri, type SearchOptions } from '../../../src/protocol/index.ts';
import { testSandboxes } from '../../support/host.ts';

let folder: string;
let files: LocalFileSystem;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'exec-server-search-regex-'));
  files = new LocalFileSystem({ sandboxes: testSandboxes() });
});
afterAll(async () => {
  await files[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

interface Line {
  readonly number: number;
  readonly column: number | undefined;
}

async function ours(text: string, content: SearchOptions['content']): Promise<Line[]> {
  const file = join(folder, 'text');
  writeFileSync(file, text);
  const { matches } = await files.search(PathUri.fromNative(file), { content, maxMatches: 10_000 });
  return matches.map(({ line, column }) => ({ number: line!, column }));
}

/** The lines that GNU grep finds in the same file, by their numbers; with `-o`, what it finds first in each. */
function greps(pattern: string, flags: readonly string[]): string[] {
  const args = ['-a', ...flags, '-e', pattern, join(folder, 'text')];
  const { status, stdout, stderr } = spawnSync('grep', args, { env: { LC_ALL: 'C.UTF-8' }, encoding: 'utf8' });
  if (status === 2) throw new Error(`grep ${pattern}: ${stderr}`);
  return stdout.split('\n').slice(0, -1);
}

const grepLines = (pattern: string, flags: readonly string[]): number[] =>
  greps(pattern, ['-n', ...flags]).map((line) => Number(line.slice(0, line.indexOf(':'))));

/** By their line, the bytes before the first match that is not empty. */
function grepColumns(pattern: string, text: string, flags: readonly string[]): Map<number, number> {
  const columns = new Map<number, number>();
  const starts = [0];
  const bytes = Buffer.from(text);
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) starts.push(at + 1);
  for (const found of greps(pattern, ['-n', '-o', '-b', ...flags])) {
    const [number, offset] = found.split(':').map(Number);
    if (!columns.has(number!)) columns.set(number!, offset! - starts[number! - 1]! + 1);
  }
  return columns;
}

const character = fc.constantFrom('a', 'b', 'c', 'A', 'B', '0', '_', ' ', 'é', 'Ж', '日', '.', '-');
const text = fc
  .array(
    fc.array(character, { maxLength: 12 }).map((all) => all.join('')),
    { minLength: 1, maxLength: 12 },
  )
  .map((lines) => lines.join('\n'));

const members = fc.array(
  fc.constantFrom('a', 'b', 'é', 'a-c', 'A-B', '0-9', '[:alpha:]', '[:digit:]', '[:upper:]', '[:space:]', '.'),
  { minLength: 1, maxLength: 3 },
);
const brackets = fc.tuple(fc.boolean(), members).map(([not, all]) => `[${not ? '^' : ''}${all.join('')}]`);
const plain = fc.constantFrom('a', 'b', 'c', 'é', 'Ж', '日', '\\.', ' ', '-', 'ab');
const atom = fc.oneof(
  { weight: 4, arbitrary: plain },
  { weight: 2, arbitrary: fc.constant('.') },
  { weight: 2, arbitrary: brackets },
  { weight: 1, arbitrary: fc.constantFrom('^', '$', '\\<', '\\>', '\\b', '\\w', '\\W', '\\s') },
);
/** Counted repetitions stand around what has none inside. */
const simple = fc.tuple(atom, fc.constantFrom('', '', '', '*', '+', '?', '{2}', '{0,2}', '{1,}', '{,3}')).map(
  ([one, mark]) => (/^(\^|\$|\\[<>b])$/.test(one) ? one : one + mark), // grep reads a repeated anchor in ways of its own
);
const { pattern } = fc.letrec<{ pattern: string; sequence: string; part: string }>((tie) => ({
  pattern: fc.oneof(
    { weight: 3, arbitrary: tie('sequence') },
    { weight: 1, arbitrary: fc.tuple(tie('sequence'), tie('sequence')).map(([one, other]) => `${one}|${other}`) },
  ),
  sequence: fc.array(tie('part'), { minLength: 1, maxLength: 4 }).map((parts) => parts.join('')),
  part: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { weight: 4, arbitrary: simple },
    {
      weight: 1,
      arbitrary: fc
        .tuple(tie('pattern'), fc.constantFrom('', '*', '+', '?'))
        .map(([inner, mark]) => `(${inner})${mark}`),
    },
  ),
}));

/** Letters of ASCII alone: grep knows the letters of all alphabets. */
const isAsciiOnly = (regex: string, subject: string): boolean =>
  !/\[:(alpha|upper)|\\[wWbs<>]/.test(regex) || !/[^\n -~]/.test(subject);

describe('regular expressions', () => {
  it('match the lines that grep -E matches, and begin where it begins', async () => {
    await fc.assert(
      fc.asyncProperty(pattern, text, fc.boolean(), async (regex, subject, caseInsensitive) => {
        fc.pre(isAsciiOnly(regex, subject));
        const found = await ours(subject, { regex, caseInsensitive });
        const flags = caseInsensitive ? ['-E', '-i'] : ['-E'];
        expect(found.map(({ number }) => number)).toEqual(grepLines(regex, flags));
        const columns = grepColumns(regex, subject, flags);
        for (const { number, column } of found) {
          const theirs = columns.get(number);
          if (theirs !== undefined) expect(column).toBeLessThanOrEqual(theirs);
          if (theirs !== undefined && !couldBeEmpty(regex)) expect(column).toBe(theirs);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('know ranges of any characters', async () => {
    // grep refuses such ranges in some locales.
    const found = await ours('я\nж\nz\n日\n', { regex: '^[а-я日-月]$' });
    expect(found.map(({ number }) => number)).toEqual([1, 2, 4]);
  });

  it('as text match the lines that grep -F matches', async () => {
    const needle = fc.array(character, { minLength: 1, maxLength: 4 }).map((all) => all.join(''));
    await fc.assert(
      fc.asyncProperty(needle, text, fc.boolean(), async (literal, subject, caseInsensitive) => {
        const found = await ours(subject, { literal, caseInsensitive });
        const flags = caseInsensitive ? ['-F', '-i'] : ['-F'];
        const columns = grepColumns(literal, subject, flags);
        expect(found).toEqual([...columns].map(([number, column]) => ({ number, column })));
      }),
      { numRuns: 150 },
    );
  });

  it.each(['(a*)*b', '(a|a)*b', '(a|aa)+b', '((a+)+)+b', '(.*)(.*)(.*)(.*)b', '(a?){200}a{200}b', '.*.*.*=.*'])(
    'take linear time: %s',
    async (regex) => {
      const subject = `${'a'.repeat(200_000)}\n${'ab'}\n`;
      const lines = (await ours(subject, { regex })).map(({ number }) => number);
      expect(lines.every((number) => number === 2)).toBe(true);
    },
  );

  it('find the first match of a line longer than what is read at a time', async () => {
    const line = `${'x'.repeat(3_000_000)}needle 42 needle 43`;
    expect(await ours(`first\n${line}\nneedle 4\n`, { regex: 'needle [0-9]+' })).toEqual([
      { number: 2, column: 3_000_001 },
      { number: 3, column: 1 },
    ]);
    expect(await ours(`first\n${line}\nneedle 4\n`, { literal: 'needle 4' })).toEqual([
      { number: 2, column: 3_000_001 },
      { number: 3, column: 1 },
    ]);
  });

  it('forget states when there are too many, and go on', async () => {
    // The automaton has to remember which of the last 14 letters were an a: up to 16,384 states.
    const letters = Array.from({ length: 100_000 }, (_, at) =>
      (at * 7919 + ((at * at) >> 3)) % 3 === 0 ? 'a' : 'b',
    ).join('');
    const expected = /a[ab]{13}c/.test(`${letters}c`) ? [1] : [];
    expect((await ours(`${letters}c\n`, { regex: 'a[ab]{13}c' })).map(({ number }) => number)).toEqual(expected);
    expect((await ours(`${letters}\nac\n`, { regex: '(a[ab]{13}|b[ab]{12})$' })).map(({ number }) => number)).toEqual([
      1,
    ]);
  });
});

/** Whether some match may be empty, of which grep tells nothing. */
function couldBeEmpty(regex: string): boolean {
  return /[*?^$\\|]|\{0|\{,/.test(regex);
}
