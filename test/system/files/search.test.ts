import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ExecServerClient, RemoteFileSystem } from '../../../src/client/index.ts';
import { webSocket } from '../../../src/link/index.ts';
import { PathUri } from '../../../src/protocol/index.ts';
import { connect } from '../../support/wire-client.ts';
import { accounts, glob, path, restrictedRead, SandboxFixture, uri, workspaceWrite } from '../sandbox/fixture.ts';
import { FilesFixture, refusal } from './fixture.ts';

interface Found {
  readonly matches: readonly {
    readonly path: string;
    readonly kind?: string;
    readonly line?: number;
    readonly column?: number;
    readonly text?: string;
    readonly cut?: { readonly before: number; readonly after: number };
  }[];
  readonly truncated: boolean;
  readonly cancelled: boolean;
  readonly filesSearched: number;
  readonly skipped: { readonly binary: number; readonly unreadable: number; readonly tooLarge: number };
  readonly errors: readonly { readonly path: string; readonly message: string }[];
}

/** In `randomLetters` nearly every byte needs a state of the automaton that there was not before: this takes many seconds. */
const slowly = { regex: 'a[ab]{250}[cd]' };

function randomLetters(): string {
  let state = 7;
  const letter = (): string => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state >>> 31 ? 'a' : 'b';
  };
  return Array.from({ length: 4_000_000 }, letter).join('');
}

describe('fs/search', () => {
  let fixture: FilesFixture;
  let count = 0;
  let root: string;
  beforeAll(async () => {
    fixture = await FilesFixture.open();
  });
  afterAll(() => fixture[Symbol.asyncDispose]());
  beforeEach(() => {
    root = `s${count++}`;
    mkdirSync(fixture.at(root));
  });

  const write = (name: string, content: string | Uint8Array = ''): void => {
    const file = fixture.at(root, name);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, content);
  };
  const search = (query: object): Promise<Found> =>
    fixture.call<Found>('fs/search', { path: fixture.uri(root), ...query });
  const below = (found: string): string => decodeURIComponent(found.slice(fixture.uri(root).length + 1));
  const paths = async (query: object): Promise<string[]> =>
    (await search(query)).matches.map((match) => below(match.path));
  const lines = async (query: object): Promise<string[]> =>
    (await search(query)).matches.map((match) => `${below(match.path)}:${match.line}:${match.column}:${match.text}`);

  it('finds lines by text, with number and column, in the order of a sorted walk', async () => {
    write('b/deep.txt', 'x\nno needle here, needle there\n');
    write('a.txt', 'needle\n\nthe needle');
    write('b.txt', 'nothing\n');
    expect(await search({ content: { literal: 'needle' } })).toEqual({
      matches: [
        { path: fixture.uri(`${root}/a.txt`), line: 1, column: 1, text: 'needle' },
        { path: fixture.uri(`${root}/a.txt`), line: 3, column: 5, text: 'the needle' },
        { path: fixture.uri(`${root}/b/deep.txt`), line: 2, column: 4, text: 'no needle here, needle there' },
      ],
      truncated: false,
      cancelled: false,
      filesSearched: 3,
      skipped: { binary: 0, unreadable: 0, tooLarge: 0 },
      errors: [],
    });
  });

  it('finds lines by regular expression, with or without regard to case', async () => {
    write('f', 'Grüße\ngrüsse\nGRÜSSE 12\n\tend\n');
    expect(await lines({ content: { regex: '^gr.(ß|s{2})e' } })).toEqual(['f:2:1:grüsse']);
    expect(await lines({ content: { regex: '^gr.(ß|s{2})e', caseInsensitive: true } })).toEqual([
      'f:1:1:Grüße',
      'f:2:1:grüsse',
      'f:3:1:GRÜSSE 12',
    ]);
    expect(await lines({ content: { literal: 'RÜS', caseInsensitive: true } })).toEqual([
      'f:2:2:grüsse',
      'f:3:2:GRÜSSE 12',
    ]);
    expect(await lines({ content: { regex: '[[:digit:]]+$' } })).toEqual(['f:3:9:GRÜSSE 12']);
    expect(await lines({ content: { regex: '\\bend\\b' } })).toEqual(['f:4:2:\tend']);
  });

  it('finds entries by name', async () => {
    write('src/a.ts');
    write('src/deep/b.tsx');
    write('lib/c.js');
    symlinkSync('nowhere', fixture.at(root, 'link.ts'));
    expect((await search({ name: '*.{ts,js}' })).matches).toEqual([
      { path: fixture.uri(`${root}/lib/c.js`), kind: 'file' },
      { path: fixture.uri(`${root}/link.ts`), kind: 'link' },
      { path: fixture.uri(`${root}/src/a.ts`), kind: 'file' },
    ]);
    expect(await paths({ name: 'src/**/*.ts*' })).toEqual(['src/a.ts', 'src/deep/b.tsx']);
    expect(await paths({ name: '**' })).toEqual([
      ...['lib', 'lib/c.js', 'link.ts', 'src', 'src/a.ts', 'src/deep', 'src/deep/b.tsx'],
    ]);
    expect((await search({ name: 'de[a-e]p' })).matches).toEqual([
      { path: fixture.uri(`${root}/src/deep`), kind: 'directory' },
    ]);
  });

  it('finds lines in files of certain names, and in one file', async () => {
    write('a.ts', 'hit\n');
    write('a.md', 'hit\n');
    expect(await paths({ name: '*.md', content: { literal: 'hit' } })).toEqual(['a.md']);
    const one = await search({ path: fixture.uri(`${root}/a.ts`), content: { literal: 'hit' } });
    expect(one.matches).toEqual([{ path: fixture.uri(`${root}/a.ts`), line: 1, column: 1, text: 'hit' }]);
  });

  it('follows no links, and shows hidden entries when it is asked to', async () => {
    write('.hidden/f', 'hit\n');
    write('plain', 'hit\n');
    symlinkSync('plain', fixture.at(root, 'link'));
    symlinkSync('.hidden', fixture.at(root, 'directory'));
    const content = { literal: 'hit' };
    expect(await paths({ content })).toEqual(['plain']);
    expect(await paths({ content, hidden: true })).toEqual(['.hidden/f', 'plain']);
  });

  it('leaves out what .gitignore says when it is asked to', async () => {
    mkdirSync(fixture.at(root, '.git/info'), { recursive: true });
    write('.git/info/exclude', 'secret.txt\n');
    write('.gitignore', '*.log\n/build/\n!keep.log\n');
    write('sub/.gitignore', 'keep.log\n!x.log\n');
    for (const name of ['a.log', 'keep.log', 'build/out', 'sub/build/out', 'sub/keep.log', 'sub/x.log', 'secret.txt']) {
      write(name, 'hit\n');
    }
    const query = { content: { literal: 'hit' }, gitignore: true };
    expect(await paths(query)).toEqual(['keep.log', 'sub/build/out', 'sub/x.log']);
    expect(await paths({ ...query, path: fixture.uri(`${root}/sub`) })).toEqual(['sub/build/out', 'sub/x.log']);
    expect(await paths({ content: { literal: 'hit' }, name: '*.log' })).toEqual([
      ...['a.log', 'keep.log', 'sub/keep.log', 'sub/x.log'],
    ]);
  });

  it('stops at its limits, and says so', async () => {
    write('a', 'x\n'.repeat(50));
    write('b', 'x\n'.repeat(50));
    const first = await search({ content: { literal: 'x' }, maxMatches: 1 });
    expect([first.matches.map(({ line }) => line), first.truncated]).toEqual([[1], true]);
    const each = await search({ content: { literal: 'x' }, maxMatchesPerFile: 2 });
    expect(each.matches.map((match) => `${below(match.path)}:${match.line}`)).toEqual(['a:1', 'a:2', 'b:1', 'b:2']);
    expect(each.truncated).toBe(false);
    const large = await search({ content: { literal: 'x' }, maxFileBytes: 10 });
    expect([large.matches, large.skipped.tooLarge]).toEqual([[], 2]);
  });

  it('gives a bounded part of a long line', async () => {
    write('long', `${'é'.repeat(1000)}needle${'z'.repeat(1000)}\nnext needle`);
    const { matches } = await search({ content: { literal: 'needle' } });
    const [match] = matches;
    expect(match).toMatchObject({ line: 1, column: 2001, cut: { before: 1872 } });
    expect(match!.text).toMatch(/^é{64}needlez+$/);
    expect(match!.cut!.before + Buffer.byteLength(match!.text!) + match!.cut!.after).toBe(3006);
    expect(matches[1]).toMatchObject({ line: 2, column: 6, text: 'next needle' });
  });

  it('leaves out binary files and gives text that is not UTF-8 as well as it can', async () => {
    write('binary', Buffer.from('needle\0'));
    write('latin', Buffer.from('caf\xe9 needle\n', 'latin1'));
    expect(await search({ content: { literal: 'needle' } })).toMatchObject({
      matches: [{ line: 1, column: 6, text: 'caf\ufffd needle' }],
      filesSearched: 1,
      skipped: { binary: 1 },
    });
  });

  it('names files by their bytes', async () => {
    writeFileSync(Buffer.concat([Buffer.from(fixture.at(root)), Buffer.from('/\xff%.txt', 'latin1')]), 'hit\n');
    const { matches } = await search({ name: '*.txt', content: { literal: 'hit' } });
    expect(matches[0]!.path).toBe(fixture.uri(`${root}/%FF%25.txt`));
    const again = await fixture.call<{ dataBase64: string }>('fs/readFile', { path: matches[0]!.path });
    expect(Buffer.from(again.dataBase64, 'base64').toString()).toBe('hit\n');
  });

  it('says which request it cannot do, and why', async () => {
    const refused = (query: object) => refusal(search(query));
    expect(await refused({})).toEqual({ code: -32602, message: 'fs/search needs `name`, `content` or both' });
    expect(await refused({ content: {} })).toEqual({
      code: -32602,
      message: 'content must have either `literal` or `regex`',
    });
    expect(await refused({ content: { literal: 'x' }, maxMatches: 0 })).toEqual({
      code: -32602,
      message: 'maxMatches must be between 1 and 10000',
    });
    const regex = (text: string) => refused({ content: { regex: text } });
    expect(await regex('(a)\\1')).toEqual({
      code: -32600,
      message: 'back-references such as \\1 are not supported, at byte 4 of the pattern',
    });
    expect(await regex('(a{2,5}){3,9}')).toMatchObject({
      message: 'a counted repetition inside another is not supported, at byte 13 of the pattern',
    });
    expect(await regex('([^x]{900}|.{900})')).toMatchObject({ message: expect.stringMatching(/^the pattern is too/) });
    expect(await regex('(a')).toMatchObject({ message: '( without a ), at byte 2 of the pattern' });
    expect(await refused({ name: '{a' })).toMatchObject({ message: 'the name pattern has a { without a }' });
    expect(await refused({ path: fixture.uri(`${root}/missing`), name: '*' })).toEqual({
      code: -32004,
      message: 'No such file or directory (os error 2)',
    });
  });

  it('reads what was written before it, without waiting for the answer', async () => {
    mkdirSync(fixture.at(root, 'new'));
    const written = fixture.write(`${root}/new/file`, 'fresh\n');
    expect(await paths({ content: { literal: 'fresh' } })).toEqual(['new/file']);
    await written;
  });

  describe('that takes long', () => {
    beforeEach(() => {
      write('a/found', `${'a'.repeat(251)}c\n`);
      write('b/long', randomLetters());
    });

    it('is cancelled by its id and answers with what it had', async () => {
      const slow = search({ searchId: 'mine', content: slowly });
      expect(await refusal(search({ searchId: 'mine', name: '*' }))).toEqual({
        code: -32600,
        message: 'search `mine` is running already',
      });
      await fixture.read(`${root}/a/found`);
      expect(await fixture.call('fs/searchCancel', { searchId: 'mine' })).toEqual({ cancelled: true });
      expect(await slow).toMatchObject({ cancelled: true, truncated: false });
      expect(await fixture.call('fs/searchCancel', { searchId: 'mine' })).toEqual({ cancelled: false });
    });

    it('lets other requests through, also changes below it', async () => {
      let over = false;
      const slow = search({ searchId: 'slow', content: slowly }).finally(() => {
        over = true;
      });
      await fixture.write(`${root}/a/new`, 'x');
      await fixture.read(`${root}/a/found`);
      expect(over).toBe(false);
      await fixture.call('fs/searchCancel', { searchId: 'slow' });
      await slow;
    });

    it('ends with its connection', async () => {
      const other = await connect(fixture.server.url);
      void other.call('fs/search', { path: fixture.uri(root), content: slowly }).catch(() => {}); // its connection is cut
      await other.call('environment/status');
      other.cut();
      // As many as a client may have at a time: none of them waits for the one before.
      const all = Array.from({ length: 8 }, () => paths({ content: { literal: 'aac' } }));
      expect(await Promise.all(all)).toEqual(Array.from({ length: 8 }, () => ['a/found']));
    });

    it('is cancelled by the signal of a client', async () => {
      await using client = await ExecServerClient.connect(webSocket(fixture.server.url));
      const stop = new AbortController();
      const files = new RemoteFileSystem(client);
      const slow = files.search(PathUri.parse(fixture.uri(root)), { content: slowly, signal: stop.signal });
      await client.request('environment/status', {});
      stop.abort(new Error('enough'));
      await expect(slow).rejects.toThrow('enough');
    });
  });
});

describe.each(accounts)('fs/search in a sandbox, for a server run by $name', (account) => {
  let fixture: SandboxFixture;
  beforeAll(async () => {
    fixture = await SandboxFixture.open(account);
  });
  beforeEach(() => fixture.reset());
  afterAll(() => fixture[Symbol.asyncDispose]());

  const search = (at: string, query: object, entries: readonly object[] = workspaceWrite): Promise<Found> =>
    fixture.client.call('fs/search', {
      path: uri(at),
      sandbox: {
        permissions: { type: 'managed', file_system: { type: 'restricted', entries }, network: 'restricted' },
        windowsSandboxLevel: 'disabled',
        cwd: uri(fixture.workspace),
        workspaceRoots: [uri(fixture.workspace)],
      },
      ...query,
    });
  const names = (found: Found): string[] =>
    found.matches.map((match) => match.path.slice(match.path.lastIndexOf('/') + 1));

  it('finds what it may read', async () => {
    fixture.write('workspace/sub/b.txt', 'one\ntwo a\n');
    expect(await search(fixture.workspace, { content: { literal: 'a' } })).toMatchObject({
      matches: [
        { line: 1, column: 1, text: 'a' },
        { line: 2, column: 5, text: 'two a' },
      ],
      cancelled: false,
    });
  });

  it('shows nothing of what is denied, neither names nor content nor errors', async () => {
    fixture.write('workspace/secret.txt', 'a secret\n');
    fixture.write('workspace/sub/key.pem', 'a key\n');
    fixture.mkdir('workspace/closed');
    fixture.write('workspace/closed/inner.txt', 'a inner\n');
    const entries = [
      ...workspaceWrite,
      path(join(fixture.workspace, 'secret.txt'), 'deny'),
      path(join(fixture.workspace, 'closed'), 'deny'),
      glob(`${fixture.workspace}/**/*.pem`),
    ];
    const byName = await search(fixture.workspace, { name: '*' }, entries);
    expect([names(byName), byName.errors]).toEqual([['a.txt', 'sub'], []]);
    const byContent = await search(fixture.workspace, { content: { literal: 'a' } }, entries);
    expect([names(byContent), byContent.errors, byContent.skipped.unreadable]).toEqual([['a.txt'], [], 0]);
  });

  it('lets other requests to the same helper through, and is cancelled', async () => {
    fixture.write('workspace/long', randomLetters());
    const slow = search(fixture.workspace, { searchId: 's', content: slowly }, restrictedRead);
    const quick = await search(fixture.workspace, { name: 'a.txt' }, restrictedRead);
    expect(names(quick)).toEqual(['a.txt']);
    expect(await fixture.client.call('fs/searchCancel', { searchId: 's' })).toEqual({ cancelled: true });
    expect(await slow).toMatchObject({ cancelled: true, matches: [] });
  });

  it('reports directories and files that it cannot read, and goes on', async () => {
    fixture.write('workspace/sub/unreadable', 'a\n');
    chmodSync(join(fixture.workspace, 'sub/unreadable'), 0);
    fixture.mkdir('workspace/closed');
    chmodSync(join(fixture.workspace, 'closed'), 0);
    const found = await search(fixture.workspace, { content: { literal: 'a' } }, restrictedRead);
    expect([names(found), found.skipped.unreadable, found.errors]).toEqual([
      ['a.txt'],
      2,
      [
        { path: uri(join(fixture.workspace, 'closed')), message: 'Permission denied (os error 13)' },
        { path: uri(join(fixture.workspace, 'sub/unreadable')), message: 'Permission denied (os error 13)' },
      ],
    ]);
  });
});
