import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Survey } from './survey.ts';

let folder: string;
const at = (name: string): string => join(folder, name);
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'exec-server-survey-')));
  mkdirSync(at('empty'));
  mkdirSync(at('full'));
  writeFileSync(at('full/file'), 'x');
  symlinkSync('full', at('link'));
  writeFileSync(at('.git'), 'gitdir: ../elsewhere\n');
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('a survey of the disk', () => {
  it('tells what is there', () => {
    const survey = new Survey();
    const kinds = ['empty', 'full/file', 'link', 'missing', '.git'].map((name) => survey.look(at(name))?.kind);
    expect(kinds).toEqual(['directory', 'file', 'link', undefined, 'file']);
    expect(survey.look('/dev/null')?.kind).toBe('other');
    expect(['link', 'full/file', 'missing'].map((name) => survey.isDirectory(at(name)))).toEqual([true, false, false]);
    expect(survey.realPath(at('link/file'))).toBe(at('full/file'));
    expect(survey.realPath(at('missing'))).toBeUndefined();
    expect(['empty', 'full', 'missing'].map((name) => survey.isEmptyDirectory(at(name)))).toEqual([true, false, false]);
    expect(survey.couldCreateIn(at('empty'))).toBe(true);
    expect(survey.gitDirectoriesOf(at('.git'))).toEqual([join(folder, '../elsewhere')]);
    expect(survey.gitDirectoriesOf(at('empty'))).toEqual([]);
  });

  it('takes a path with a NUL for none, not for what stands before it', () => {
    const survey = new Survey();
    expect(survey.look(`${at('full')}\0x`)).toBeUndefined();
    expect(survey.realPath(`${at('full')}\0x`)).toBeUndefined();
    expect(survey.isDirectory(`${at('full')}\0x`)).toBe(false);
    writeFileSync(at('.git'), 'gitdir: /tmp/x\0--share-net\n');
    expect(survey.gitDirectoriesOf(at('.git'))).toEqual([]);
  });

  it('gives one answer to one question, and remembers what it was', () => {
    const survey = new Survey();
    expect(survey.isEmptyDirectory(at('empty'))).toBe(true);
    writeFileSync(at('empty/file'), 'x');
    expect(survey.isEmptyDirectory(at('empty'))).toBe(true);
    expect(survey.record().holds()).toBe(false);
  });

  const changes: [string, (survey: Survey) => unknown, () => void][] = [
    ['something appears', (survey) => survey.look(at('new')), () => mkdirSync(at('new'))],
    ['something goes away', (survey) => survey.look(at('empty')), () => rmdirSync(at('empty'))],
    [
      'another takes the place of a directory',
      (survey) => survey.look(at('full')),
      () => {
        renameSync(at('full'), at('old'));
        mkdirSync(at('full'));
      },
    ],
    [
      'a directory is made again at once, with the number it had',
      (survey) => survey.look(at('empty')),
      () => {
        rmdirSync(at('empty'));
        mkdirSync(at('empty'));
      },
    ],
    [
      'a link leads elsewhere',
      (survey) => survey.realPath(at('link/file')),
      () => {
        rmSync(at('link'));
        symlinkSync('empty', at('link'));
        writeFileSync(at('empty/file'), 'x');
      },
    ],
    ['a directory fills', (survey) => survey.isEmptyDirectory(at('empty')), () => writeFileSync(at('empty/x'), 'x')],
    ['rights change', (survey) => survey.couldCreateIn(at('full')), () => chmodSync(at('full'), 0o500)],
    [
      'a file is rewritten',
      (survey) => survey.gitDirectoriesOf(at('.git')),
      () => writeFileSync(at('.git'), 'gitdir: /x'),
    ],
    ['a path leads to a directory now', (survey) => survey.isDirectory(at('new')), () => mkdirSync(at('new'))],
  ];
  it.each(changes)('does not hold any more when %s', (_name, ask, change) => {
    const survey = new Survey();
    ask(survey);
    const record = survey.record();
    expect(record.holds()).toBe(true);
    change();
    expect(record.holds()).toBe(false);
  });
});
