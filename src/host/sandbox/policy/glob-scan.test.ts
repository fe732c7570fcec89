import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UnenforceablePolicy } from '../unenforceable-policy.ts';
import { globOf, heldDirectories, parseGlob } from './glob.ts';
import { expandGlobs, expandGlobsLater } from './glob-scan.ts';

describe('a pattern', () => {
  it.each([
    ['/w/*.env', '/w/a.env', true],
    ['/w/*.env', '/w/sub/a.env', false],
    ['/w/**/*.env', '/w/a.env', true],
    ['/w/**/*.env', '/w/a/b/.env', true],
    ['/w/**/*.env', '/w/a/b/x.envy', false],
    ['/w/**', '/w/a/b', true],
    ['/w/?.txt', '/w/a.txt', true],
    ['/w/?.txt', '/w/ab.txt', false],
    ['/w/[a-c].txt', '/w/b.txt', true],
    ['/w/[!a-c].txt', '/w/b.txt', false],
    ['/w/*.{pem,key}', '/w/x.key', true],
    ['/w/*.{pem,key}', '/w/x.crt', false],
    ['/w/a+b(1).txt', '/w/a+b(1).txt', true],
    ['/w/a.txt', '/w/aXtxt', false],
    ['/w/**x/y', '/w/ax/y', true],
    ['/w/[', '/w/[', true],
    ['/w//*.env', '/w/a.env', true],
    ['/w/./x/../*.env', '/w/a.env', true],
    ['/w/*.env/', '/w/a.env', true],
    ['/w/\\[id\\]/*.env', '/w/[id]/a.env', true],
    ['/w/\\*', '/w/*', true],
    ['/w/\\*', '/w/a', false],
    ['/w/x[]a]y', '/w/x]y', true],
    ['/w/x[^]a]y', '/w/x]y', false],
    ['/w/{**/,}x', '/w/a/b/x', true],
    [`${globOf('/w/[a]{b,c}*\\')}/*.env`, '/w/[a]{b,c}*\\/x.env', true],
  ])('%s against %s', (pattern, path, matches) => {
    expect(parseGlob(pattern).expression.test(path)).toBe(matches);
  });

  it('starts in its last directory without a wildcard', () => {
    expect(parseGlob('/a/b/*/c').root).toBe('/a/b');
    expect(parseGlob('/a/b').root).toBe('/a');
  });

  it.each(['/**/*.pem', '/*', '/{a', '/w/{a', '/w/*/../x', '/w/../*', '/w/[z-a]'])('%s is refused', (pattern) => {
    expect(() => parseGlob(pattern)).toThrow(UnenforceablePolicy);
  });
});

describe('what patterns match on the disk', () => {
  let folder: string;
  beforeAll(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'exec-server-globs-')));
    mkdirSync(join(folder, 'w/deep/.hidden'), { recursive: true });
    mkdirSync(join(folder, 'out'));
    for (const name of ['w/a.env', 'w/deep/b.env', 'w/deep/.hidden/.env', 'w/c.txt', 'out/d.env']) {
      writeFileSync(join(folder, name), '');
    }
    symlinkSync(join(folder, 'out'), join(folder, 'w/link'));
    symlinkSync(join(folder, 'out/d.env'), join(folder, 'w/e.env'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const expand = (pattern: string, depth?: number) =>
    expandGlobs([`${folder}/w/${pattern}`], depth)
      .map((path) => path.slice(folder.length + 1))
      .sort();

  it('includes hidden files and the targets of links, and enters no link', () => {
    expect(expand('**/*.env')).toEqual(['out/d.env', 'w/a.env', 'w/deep/.hidden/.env', 'w/deep/b.env']);
  });

  it('is the same whether the search blocks the event loop or not', async () => {
    const patterns = [`${folder}/w/**/*.env`, `${folder}/out/*`];
    expect(await expandGlobsLater(patterns)).toEqual(expandGlobs(patterns));
    await expect(expandGlobsLater(['/**'])).rejects.toThrow(UnenforceablePolicy);
  });

  it('stops at the depth it is given', () => {
    expect(expand('**/*.env', 1)).toEqual(['out/d.env', 'w/a.env']);
    expect(expand('**/*.env', 2)).toEqual(['out/d.env', 'w/a.env', 'w/deep/b.env']);
  });

  it('is empty for a missing directory', () => {
    expect(expand('missing/*.env')).toEqual([]);
  });
});

describe('the directories that must stay in place for a match', () => {
  it.each([
    ['/w/*.env', '/w/a.env', ['/w']],
    ['/w/deep/*/x', '/w/deep/a/x', ['/w', '/w/deep', '/w/deep/a']],
    ['/w/**/*.env', '/w/a/b/x.env', ['/w']],
    ['/w/in/**/secret/*.key', '/w/in/a/secret/x.key', ['/w', '/w/in', '/w/in/a/secret']],
    ['/w/in/**/secret/*.key', '/w/in/secret/x.key', ['/w', '/w/in', '/w/in/secret']],
    ['/w/**', '/w/a', ['/w']],
    ['/w/**/a/**/x', '/w/a/b/x', ['/w', '/w/a', '/w/a/b']],
  ])('%s at %s', (pattern, path, directories) => {
    expect(heldDirectories(parseGlob(pattern), path)).toEqual(directories);
  });

  it('are all of them when the search ends at some depth: deeper down nothing is found', () => {
    expect(heldDirectories(parseGlob('/w/**/*.env'), '/w/a/x.env', 3)).toEqual(['/w', '/w/a']);
  });
});
