import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Desk, type McpUser } from './mcp-fixture.ts';

describe('file tools of an MCP client', () => {
  let desk: Desk;
  let user: McpUser;
  beforeAll(async () => {
    desk = new Desk();
    user = await desk.open(['--sandbox', 'workspace-write']);
  });
  afterAll(async () => {
    await user[Symbol.asyncDispose]();
    await desk[Symbol.asyncDispose]();
  });

  it('write files, with the directories they need, and read them', async () => {
    expect(await user.call('write_file', { path: 'a/b/c.txt', content: 'één\n' })).toEqual({
      isError: false,
      text: `Wrote 6 bytes to ${desk.work}/a/b/c.txt`,
      structured: { path: `${desk.work}/a/b/c.txt`, bytes: 6 },
    });
    expect(await user.call('read_file', { path: join(desk.work, 'a/b/c.txt') })).toEqual({
      isError: false,
      text: 'één\n',
      structured: { content: 'één\n', first_line: 1 },
    });
  });

  it('read a large file piece by piece', async () => {
    const lines = Array.from({ length: 5_000 }, (_, n) => `line ${n + 1}\n`);
    writeFileSync(join(desk.work, 'large'), lines.join(''));

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
    mkdirSync(join(desk.work, 'tree/one/two'), { recursive: true });
    for (const name of ['z', 'one/y', 'one/two/x']) writeFileSync(join(desk.work, 'tree', name), '');

    const flat = await user.call('list_dir', { path: 'tree' });
    const deep = await user.call('list_dir', { path: 'tree', depth: 8 });
    const cut = await user.call('list_dir', { path: 'tree', depth: 8, limit: 2 });

    expect(flat.text).toBe('one/\nz');
    expect(deep.structured?.entries).toEqual(['one/', 'one/two/', 'one/two/x', 'one/y', 'z']);
    expect(cut.structured).toMatchObject({ entries: ['one/', 'one/two/'], truncated: true });
  });

  it('apply patches, all of one or nothing', async () => {
    writeFileSync(join(desk.work, 'p.txt'), 'one\ntwo\n');
    const patch = (...lines: string[]) => ({ input: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n') });

    const good = await user.call('apply_patch', patch('*** Update File: p.txt', '@@', '-two', '+2'));
    const bad = await user.call(
      'apply_patch',
      patch('*** Add File: q.txt', '+x', `*** Add File: ${desk.outside}/q`, '+x'),
    );

    expect(good.structured).toEqual({ files: [{ kind: 'M', path: 'p.txt' }] });
    expect(readFileSync(join(desk.work, 'p.txt'), 'utf8')).toBe('one\n2\n');
    expect(bad.isError).toBe(true);
    expect(bad.text).toContain(`Failed to write file ${desk.outside}/q: Read-only file system`);
    expect(bad.text).toContain('No files were modified.');
    expect((await user.call('read_file', { path: 'q.txt' })).isError).toBe(true);
  });

  it('say what is permitted, and how to ask for more', async () => {
    const answer = await user.call('write_file', { path: join(desk.outside, 'f'), content: '' });

    expect(answer.isError).toBe(true);
    expect(answer.text).toBe(
      `cannot write ${desk.outside}/f: Read-only file system (os error 30). ` +
        `In the workspace-write sandbox everything may be read, and files below ${desk.work} and the temporary ` +
        'directories may be written. To ask the user for more, call again with sandbox_permissions ' +
        '"require_escalated" and a justification.',
    );
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

    expect(await user.call(name, args)).toMatchObject({ isError: true, text: text.replaceAll('WORK', desk.work) });
  });

  it('read nothing that is no text', async () => {
    writeFileSync(join(desk.work, 'binary'), new Uint8Array([1, 0, 2]));

    expect((await user.call('read_file', { path: 'binary' })).text).toContain('it is no text: it has NUL bytes');
  });
});

describe('file tools in the read-only sandbox', () => {
  it('write nothing at all', async () => {
    await using desk = new Desk();
    await using user = await desk.open(['--sandbox', 'read-only']);

    const answer = await user.call('write_file', { path: 'f', content: '' });

    expect(answer).toMatchObject({ isError: true, text: expect.stringContaining('nothing written') });
  });
});
