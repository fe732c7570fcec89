import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { McpFixture, type McpUser } from './fixture.ts';

describe('file tools of an MCP client', () => {
  let fixture: McpFixture;
  let user: McpUser;
  beforeAll(async () => {
    fixture = new McpFixture();
    user = await fixture.open(['--sandbox', 'workspace-write']);
  });
  afterAll(async () => {
    await user[Symbol.asyncDispose]();
    await fixture[Symbol.asyncDispose]();
  });

  it('write files, with the directories they need, and read them', async () => {
    expect(await user.call('write_file', { path: 'a/b/c.txt', content: 'één\n' })).toEqual({
      isError: false,
      text: `Wrote 6 bytes to ${fixture.work}/a/b/c.txt`,
      structured: { path: `${fixture.work}/a/b/c.txt`, bytes: 6 },
    });
    expect(await user.call('read_file', { path: join(fixture.work, 'a/b/c.txt') })).toEqual({
      isError: false,
      text: 'één\n',
      structured: { content: 'één\n', first_line: 1 },
    });
  });

  it('read a large file piece by piece', async () => {
    const lines = Array.from({ length: 5_000 }, (_, n) => `line ${n + 1}\n`);
    writeFileSync(join(fixture.work, 'large'), lines.join(''));

    let [content, next] = ['', 1 as unknown];
    const starts: unknown[] = [];
    while (next !== undefined) {
      starts.push(next);
      const { structured } = await user.call('read_file', { path: 'large', offset: next });
      content += structured?.content;
      next = structured?.next_line;
    }
    const some = await user.call('read_file', { path: 'large', offset: 4_999, limit: 1 });

    expect(starts).toEqual([1, 2_001, 4_001]);
    expect(content).toBe(lines.join(''));
    expect(some.text).toBe('line 4999\n\n(more lines follow: go on with offset 5000)\n');
  });

  it('list directories to a depth and no further than asked', async () => {
    mkdirSync(join(fixture.work, 'tree/one/two'), { recursive: true });
    for (const name of ['z', 'one/y', 'one/two/x']) writeFileSync(join(fixture.work, 'tree', name), '');

    const flat = await user.call('list_dir', { path: 'tree' });
    const deep = await user.call('list_dir', { path: 'tree', depth: 8 });
    const cut = await user.call('list_dir', { path: 'tree', depth: 8, limit: 2 });

    expect(flat.text).toBe('one/\nz');
    expect(deep.structured?.entries).toEqual(['one/', 'one/two/', 'one/two/x', 'one/y', 'z']);
    expect(cut.structured).toMatchObject({ entries: ['one/', 'one/two/'], truncated: true });
  });

  it('say what is permitted where the user cannot be asked for more', async () => {
    const answer = await user.call('write_file', { path: join(fixture.outside, 'f'), content: '' });

    expect(answer).toMatchObject({
      isError: true,
      text: expect.stringContaining(`cannot write ${fixture.outside}/f: `),
    });
    expect(answer.text).toContain('this MCP client cannot ask its user');
    expect(answer.text).toContain(
      `In the workspace-write sandbox everything may be read, and files below ${fixture.work} and the temporary ` +
        'directories may be written.',
    );
    expect(existsSync(join(fixture.outside, 'f'))).toBe(false);
  });

  it('say how to ask for more where nothing may be read', async () => {
    const answer = await user.call('read_file', { path: '/proc/self/environ' });

    expect(answer).toMatchObject({ isError: true, text: expect.stringContaining('Permission denied (os error 13)') });
    expect(answer.text).toContain('call again with sandbox_permissions "require_escalated" and a justification.');
  });

  it('cannot write elsewhere by a link', async () => {
    symlinkSync(fixture.outside, join(fixture.work, 'link'));

    const answer = await user.call('write_file', { path: 'link/f', content: 'x' });

    expect(answer).toMatchObject({ isError: true, text: expect.stringContaining('Read-only file system') });
    expect(existsSync(join(fixture.outside, 'f'))).toBe(false);
  });

  it.each([
    ['read_file', {}, 'read_file: `path`: Invalid input: expected string, received undefined'],
    ['read_file', { path: 'a', offset: 0 }, 'read_file: `offset`: expected 1 or more'],
    ['read_file', { path: 'nope' }, 'cannot read WORK/nope: No such file or directory (os error 2)'],
    ['read_file', { path: 'a' }, 'cannot read WORK/a: path `WORK/a` is not a file'],
    ['list_dir', { path: 'a/b/c.txt' }, 'cannot list WORK/a/b/c.txt: Not a directory (os error 20)'],
    ['list_dir', { depth: 1.5 }, 'list_dir: `depth`: expected a whole number'],
    ['write_file', { path: '', content: '' }, 'write_file: `path`: expected a path'],
    [
      'apply_patch',
      { input: '' },
      "apply_patch verification failed: invalid patch: The last line of the patch must be '*** End Patch'",
    ],
  ])('refuse %s %j with the reason', async (name, args, text) => {
    await user.call('write_file', { path: 'a/b/c.txt', content: '' });

    expect(await user.call(name, args)).toMatchObject({ isError: true, text: text.replaceAll('WORK', fixture.work) });
  });

  it('read nothing that is no text', async () => {
    writeFileSync(join(fixture.work, 'binary'), new Uint8Array([1, 0, 2]));

    expect((await user.call('read_file', { path: 'binary' })).text).toContain(
      'it is not a text file: it has NUL bytes',
    );
  });
});
