import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LocalFileSystem } from '../../../src/host/files/index.ts';
import { PathUri } from '../../../src/protocol/index.ts';
import { testSandboxes } from '../../support/host.ts';

let folder: string;
let files: LocalFileSystem;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'exec-server-search-ignore-'));
  files = new LocalFileSystem({ sandboxes: testSandboxes() });
});
afterAll(async () => {
  await files[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const environment = () => ({
  HOME: folder,
  PATH: '/usr/bin:/bin',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
});

function git(args: readonly string[], input = ''): string {
  const { status, stdout, stderr } = spawnSync('git', ['-C', join(folder, 'top'), ...args], {
    env: environment(),
    input,
    encoding: 'utf8',
  });
  if (status !== 0 && status !== 1) throw new Error(`git ${args.join(' ')}: ${stderr}`);
  return stdout;
}

beforeEach(() => emptyRepository());

function emptyRepository(): void {
  const top = join(folder, 'top');
  mkdirSync(top, { recursive: true });
  if (!existsSync(join(top, '.git'))) git(['init', '-q', '.']);
  for (const name of readdirSync(top)) if (name !== '.git') rmSync(join(top, name), { recursive: true });
  rmSync(join(top, '.git/info/exclude'), { force: true });
}

/** Every entry of the repository but .git, by its path. */
function everything(): string[] {
  const all = readdirSync(join(folder, 'top'), { recursive: true, encoding: 'utf8' });
  return all.filter((path) => path !== '.git' && !path.startsWith('.git/'));
}

function keptByGit(): string[] {
  const all = everything();
  const ignored = new Set(
    git(['check-ignore', '--no-index', '-z', '--stdin'], all.map((path) => `${path}\0`).join('')).split('\0'),
  );
  return all.filter((path) => !ignored.has(path)).sort();
}

async function found(below = ''): Promise<string[]> {
  const top = join(folder, 'top');
  const query = { name: '**', gitignore: true, hidden: true, maxMatches: 10_000 };
  const { matches } = await files.search(PathUri.fromNative(join(top, below)), query);
  return matches.map(({ path }) => String(path.toNative()).slice(top.length + 1)).sort();
}

function write(path: string, content = ''): void {
  mkdirSync(dirname(join(folder, 'top', path)), { recursive: true });
  writeFileSync(join(folder, 'top', path), content);
}

const token = fc.constantFrom(
  ...[
    'a',
    'b',
    'c',
    'ab',
    'a',
    'b',
    '.',
    '*',
    '*',
    '**',
    '?',
    '/',
    '/',
    '/',
    '**/',
    '/**',
    '/**/',
    '[ab]',
    '[!a]',
    '[^b]',
    '[a-c]',
  ],
  ...[
    '[]a]',
    '[!]a]',
    '[[:alpha:]]',
    '[[:no:]]',
    '[[:alpha:]',
    '[',
    '[a',
    '[b-a]',
    '[a\\-c]',
    '\\a',
    '\\*',
    '\\',
    '\\ ',
    ' ',
    '!',
    '#',
    '\\!',
    '\\#',
  ],
);
const line = fc
  .tuple(
    fc.constantFrom('', '', '', '!', '/', '!/'),
    fc.array(token, { minLength: 1, maxLength: 5 }),
    fc.constantFrom('', '', '', '/', ' ', '\r'),
  )
  .map(([start, tokens, end]) => start + tokens.join('') + end);
const rules = fc
  .tuple(fc.array(line, { minLength: 1, maxLength: 6 }), fc.constantFrom('', '\n'), fc.constantFrom('', '', '\ufeff'))
  .map(([lines, end, mark]) => mark + lines.join('\n') + end);
const name = fc.constantFrom('a', 'b', 'c', 'ab', 'abc', 'a.c', 'a b', '#a', '!b', 'a]', '-', '.a', 'b ', '*', 'a\\');
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'));
const tree = fc.record({
  paths: fc.array(path, { minLength: 5, maxLength: 25 }),
  ignores: fc.array(fc.tuple(fc.constantFrom('', 'a/', 'b/', 'a/b/', 'ab/a/'), rules), { minLength: 1, maxLength: 4 }),
  exclude: fc.option(rules),
});

function plant({
  paths,
  ignores,
  exclude,
}: {
  paths: string[];
  ignores: [string, string][];
  exclude: string | null;
}): void {
  emptyRepository();
  for (const [directory, text] of ignores) {
    mkdirSync(join(folder, 'top', directory), { recursive: true });
    write(`${directory}.gitignore`, text);
  }
  for (const each of paths) {
    try {
      write(each);
    } catch {
      // a file where a directory would have to be, or the other way round: another shape of the tree is as good
    }
  }
  if (exclude !== null) write('.git/info/exclude', exclude);
}

describe('.gitignore in a search', () => {
  it('leaves out what git check-ignore ignores', async () => {
    await fc.assert(
      fc.asyncProperty(tree, async (planted) => {
        plant(planted);
        expect(await found()).toEqual(keptByGit());
      }),
      { numRuns: 60 },
    );
  });

  it('counts also for a search that begins below the top of the repository', async () => {
    write('.gitignore', '*.log\n/deep/one/x\n');
    write('deep/.gitignore', 'y\n!keep.log\n');
    for (const each of ['a.log', 'keep.log', 'x', 'y', 'z']) write(`deep/one/${each}`);
    expect(await found('deep/one')).toEqual(['deep/one/keep.log', 'deep/one/z']);
  });

  it('of a repository inside another are the inner one’s own', async () => {
    write('.gitignore', 'x\n');
    write('inner/.git/info/exclude', 'z\n');
    write('inner/.gitignore', 'y\n');
    for (const each of ['x', 'y', 'z', 'w']) write(`inner/${each}`);
    write('x');
    expect(await found()).toEqual(['.gitignore', 'inner', 'inner/.gitignore', 'inner/w', 'inner/x']);
  });

  it('counts in a tree that is no repository', async () => {
    rmSync(join(folder, 'top/.git'), { recursive: true });
    write('.gitignore', 'x\n');
    write('sub/x');
    write('sub/y');
    expect(await found()).toEqual(['.gitignore', 'sub', 'sub/y']);
  });
});
