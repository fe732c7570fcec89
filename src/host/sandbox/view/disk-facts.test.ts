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
import { DiskFacts } from './disk-facts.ts';

let folder: string;
const at = (name: string): string => join(folder, name);
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'exec-server-facts-')));
  mkdirSync(at('empty'));
  mkdirSync(at('full'));
  writeFileSync(at('full/file'), 'x');
  symlinkSync('full', at('link'));
  writeFileSync(at('.git'), 'gitdir: ../elsewhere\n');
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('facts about the disk', () => {
  it('tell what is at a path', () => {
    const facts = new DiskFacts();
    const kinds = ['empty', 'full/file', 'link', 'missing', '.git'].map((name) => facts.entryAt(at(name))?.kind);
    expect(kinds).toEqual(['directory', 'file', 'link', undefined, 'file']);
    expect(facts.entryAt('/dev/null')?.kind).toBe('other');
    expect(['link', 'full/file', 'missing'].map((name) => facts.isDirectory(at(name)))).toEqual([true, false, false]);
    expect(facts.realPath(at('link/file'))).toBe(at('full/file'));
    expect(facts.realPath(at('missing'))).toBeUndefined();
    expect(['empty', 'full', 'missing'].map((name) => facts.isEmptyDirectory(at(name)))).toEqual([true, false, false]);
    expect(facts.couldCreateIn(at('empty'))).toBe(true);
    expect(facts.gitDirectoriesOf(at('.git'))).toEqual([join(folder, '../elsewhere')]);
    expect(facts.gitDirectoriesOf(at('empty'))).toEqual([]);
  });

  it('take a path with a NUL for a missing one, not for the path before the NUL', () => {
    const facts = new DiskFacts();
    expect(facts.entryAt(`${at('full')}\0x`)).toBeUndefined();
    expect(facts.realPath(`${at('full')}\0x`)).toBeUndefined();
    expect(facts.isDirectory(`${at('full')}\0x`)).toBe(false);
    writeFileSync(at('.git'), 'gitdir: /tmp/x\0--share-net\n');
    expect(facts.gitDirectoriesOf(at('.git'))).toEqual([]);
  });

  it('give one answer to each question, and remember it', () => {
    const facts = new DiskFacts();
    expect(facts.isEmptyDirectory(at('empty'))).toBe(true);
    writeFileSync(at('empty/file'), 'x');
    expect(facts.isEmptyDirectory(at('empty'))).toBe(true);
    expect(facts.record().holds()).toBe(false);
  });

  const changes: [string, (facts: DiskFacts) => unknown, () => void][] = [
    ['something appears', (facts) => facts.entryAt(at('new')), () => mkdirSync(at('new'))],
    ['something goes away', (facts) => facts.entryAt(at('empty')), () => rmdirSync(at('empty'))],
    [
      'another takes the place of a directory',
      (facts) => facts.entryAt(at('full')),
      () => {
        renameSync(at('full'), at('old'));
        mkdirSync(at('full'));
      },
    ],
    [
      'a directory is made again at once, with the number it had',
      (facts) => facts.entryAt(at('empty')),
      () => {
        rmdirSync(at('empty'));
        mkdirSync(at('empty'));
      },
    ],
    [
      'a link leads elsewhere',
      (facts) => facts.realPath(at('link/file')),
      () => {
        rmSync(at('link'));
        symlinkSync('empty', at('link'));
        writeFileSync(at('empty/file'), 'x');
      },
    ],
    ['a directory fills', (facts) => facts.isEmptyDirectory(at('empty')), () => writeFileSync(at('empty/x'), 'x')],
    ['rights change', (facts) => facts.couldCreateIn(at('full')), () => chmodSync(at('full'), 0o500)],
    [
      'a file is rewritten',
      (facts) => facts.gitDirectoriesOf(at('.git')),
      () => writeFileSync(at('.git'), 'gitdir: /x'),
    ],
    ['a path leads to a directory now', (facts) => facts.isDirectory(at('new')), () => mkdirSync(at('new'))],
  ];
  it.each(changes)('do not hold any more when %s', (_name, ask, change) => {
    const facts = new DiskFacts();
    ask(facts);
    const record = facts.record();
    expect(record.holds()).toBe(true);
    change();
    expect(record.holds()).toBe(false);
  });
});
