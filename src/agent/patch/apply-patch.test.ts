import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testSandboxes } from '../../../test/support/host.ts';
import { Mutex } from '../../base/index.ts';
import { LocalFileSystem } from '../../host/files/index.ts';
import { applyPatch } from './apply-patch.ts';
import { applyPatchCommand, type PlannedChange } from './index.ts';

describe('applying a patch', () => {
  let folder: string;
  let files: LocalFileSystem;
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'exec-server-patch-')));
    files = new LocalFileSystem({ sandboxes: testSandboxes() });
    writeFileSync(join(folder, 'a.txt'), 'one\ntwo\n');
    writeFileSync(join(folder, 'b.txt'), 'bye\n');
  });
  afterEach(async () => {
    await files[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  const apply = (...lines: string[]) =>
    applyPatch(['*** Begin Patch', ...lines, '*** End Patch'].join('\n'), files, folder);
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  const names = () => readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  const untouched = () => {
    expect(names()).toEqual(['a.txt', 'b.txt']);
    expect([read('a.txt'), read('b.txt')]).toEqual(['one\ntwo\n', 'bye\n']);
  };

  it('adds, updates, moves and deletes, and says so', async () => {
    const outcome = await apply(
      '*** Delete File: b.txt',
      ...['*** Update File: a.txt', '*** Move to: x/c.txt', '@@', '-two', '+2'],
      ...['*** Add File: d/e/new.txt', '+hello'],
    );

    expect(outcome).toEqual({
      success: true,
      text: expect.stringMatching(
        /^Exit code: 0\nWall time: [\d.]+ seconds\nOutput:\nSuccess. Updated the following files:\nA d\/e\/new.txt\nM x\/c.txt\nD b.txt\n$/,
      ),
      files: [
        { kind: 'A', path: 'd/e/new.txt' },
        { kind: 'M', path: 'x/c.txt' },
        { kind: 'D', path: 'b.txt' },
      ],
    });
    expect(names()).toEqual(['d', 'd/e', 'd/e/new.txt', 'x', 'x/c.txt']);
    expect(read('x/c.txt')).toBe('one\n2\n');
    expect(read('d/e/new.txt')).toBe('hello\n');
  });

  it('lets later parts see what earlier ones did', async () => {
    const { success } = await apply(
      ...['*** Update File: a.txt', '@@', '-one', '+1'],
      ...['*** Update File: a.txt', '@@', '-1', '+uno'],
      ...['*** Delete File: b.txt', '*** Add File: b.txt', '+new'],
    );

    expect(success).toBe(true);
    expect([read('a.txt'), read('b.txt')]).toEqual(['uno\ntwo\n', 'new\n']);
  });

  it('keeps a file that is moved to where it is', async () => {
    await apply('*** Update File: a.txt', '*** Move to: ./a.txt', '@@', '-one', '+1');

    expect(read('a.txt')).toBe('1\ntwo\n');
  });

  it('replaces a file that is added once more, and deletes one that is no text', async () => {
    writeFileSync(join(folder, 'b.txt'), new Uint8Array([0xff, 0xfe]));
    const { success } = await apply('*** Add File: a.txt', '+all new', '*** Delete File: b.txt');

    expect(success).toBe(true);
    expect(names()).toEqual(['a.txt']);
    expect(read('a.txt')).toBe('all new\n');
  });

  it.each([
    ['an empty patch', [], 'patch rejected: empty patch'],
    [
      'a part that does not fit',
      ['*** Add File: new', '+x', '*** Update File: a.txt', '@@', '-nope'],
      'apply_patch verification failed: Failed to find expected lines in FOLDER/a.txt:\nnope',
    ],
    [
      'a missing file to update',
      ['*** Add File: new', '+x', '*** Update File: nope', '@@', '-x'],
      'apply_patch verification failed: Failed to read file to update FOLDER/nope: No such file or directory (os error 2)',
    ],
    [
      'a missing file to delete',
      ['*** Delete File: b.txt', '*** Delete File: b.txt'],
      'apply_patch verification failed: Failed to read FOLDER/b.txt: No such file or directory (os error 2)',
    ],
    [
      'a directory made of a file',
      ['*** Delete File: b.txt', '*** Add File: a.txt/x', '+x'],
      'apply_patch verification failed: Failed to write file FOLDER/a.txt/x: Not a directory (os error 20)',
    ],
  ])('changes nothing for %s', async (_, lines, text) => {
    const outcome = await apply(...lines);

    expect(outcome).toMatchObject({ success: false, files: [], text: text.replaceAll('FOLDER', folder) });
    untouched();
  });

  it('puts back what it wrote when a later write fails', async () => {
    const failing = new LocalFileSystem({ sandboxes: testSandboxes() });
    failing.remove = async (path, options) => {
      if (path.href.endsWith('/b.txt')) throw new Error('disk on fire');
      await LocalFileSystem.prototype.remove.call(failing, path, options);
    };
    const lines = ['*** Add File: d/e/new', '+x', '*** Update File: a.txt', '@@', '-one', '*** Delete File: b.txt'];
    const text = ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');
    const outcome = await applyPatch(text, failing, folder);
    await failing[Symbol.asyncDispose]();

    expect(outcome.text).toMatch(/^Exit code: 1\nWall time: [\d.]+ seconds\nOutput:\n/);
    expect(outcome.text).toContain(`Failed to delete file ${folder}/b.txt: disk on fire\nNo files were modified.\n`);
    expect(outcome.failure?.message).toBe('disk on fire');
    untouched();
  });

  it('leaves alone what others have put into the directories it made, and says so', async () => {
    const failing = new LocalFileSystem({ sandboxes: testSandboxes() });
    failing.remove = async (path, options) => {
      if (!path.href.endsWith('/b.txt')) return LocalFileSystem.prototype.remove.call(failing, path, options);
      writeFileSync(join(folder, 'd/theirs'), 'precious');
      throw new Error('disk on fire');
    };
    const text = '*** Begin Patch\n*** Add File: d/e/new\n+x\n*** Delete File: b.txt\n*** End Patch';
    const outcome = await applyPatch(text, failing, folder);
    await failing[Symbol.asyncDispose]();

    expect(outcome.text).toContain('Putting back what was already written failed too: ');
    expect(names()).toEqual(['a.txt', 'b.txt', 'd', 'd/theirs']);
  });

  it('asks with everything that would become of the files, before any of it does', async () => {
    let asked: unknown;
    const permit = async (changes: readonly PlannedChange[]) => {
      untouched();
      asked = changes;
      throw new Error('no');
    };
    const lines = [
      ...['*** Add File: new.txt', '+hello', '+', '*** Add File: b.txt', '+over'],
      ...['*** Update File: a.txt', '*** Move to: x/c.txt', '@@ one', '-two', '+2', '*** Delete File: new.txt'],
      ...['*** Update File: b.txt', '@@', ' over', '+more'],
    ];
    const text = ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');

    await expect(applyPatch(text, files, folder, { permit })).rejects.toThrow('no');
    untouched();
    expect(asked).toEqual([
      { kind: 'add', path: join(folder, 'new.txt'), diff: ['+hello', '+'] },
      { kind: 'update', path: join(folder, 'b.txt'), diff: ['+over'] },
      {
        kind: 'move',
        path: join(folder, 'a.txt'),
        movedTo: join(folder, 'x/c.txt'),
        diff: ['@@ one', '-two', '+2'],
      },
      { kind: 'delete', path: join(folder, 'new.txt'), diff: [] },
      { kind: 'update', path: join(folder, 'b.txt'), diff: ['@@', ' over', '+more'] },
    ]);
  });

  it('asks about nothing that cannot be done', async () => {
    const permit = async () => {
      throw new Error('asked');
    };
    const text = '*** Begin Patch\n*** Add File: c\n+x\n*** Delete File: nope\n*** End Patch';

    expect((await applyPatch(text, files, folder, { permit })).text).toContain('apply_patch verification failed');
    untouched();
  });

  it('writes each file on the terms it was given', async () => {
    symlinkSync('a.txt', join(folder, 'link'));
    const permit = async () => (path: string) => ({ followSymlinks: !path.endsWith('link') });
    const add = (...paths: string[]) =>
      ['*** Begin Patch', ...paths.flatMap((path) => [`*** Add File: ${path}`, '+x']), '*** End Patch'].join('\n');

    const outcome = await applyPatch(add('b.txt', 'd/e', 'link'), files, folder, { permit });

    expect(outcome).toMatchObject({
      success: false,
      text: expect.stringContaining(`Failed to write file ${folder}/link`),
    });
    rmSync(join(folder, 'link'));
    untouched();
  });

  it('writes on top of changes made while the user was asked, or not at all', async () => {
    const permit = async () => {
      writeFileSync(join(folder, 'a.txt'), 'zero\none\ntwo\n');
      return () => ({});
    };
    const text = '*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch';

    expect((await applyPatch(text, files, folder, { permit })).success).toBe(true);
    expect(read('a.txt')).toBe('zero\none\n2\n');
  });

  it('loses no change when patches of one file come at once', async () => {
    const mutex = new Mutex();
    const patch = (from: string, to: string) =>
      `*** Begin Patch\n*** Update File: a.txt\n@@\n-${from}\n+${to}\n*** End Patch`;

    await Promise.all([
      applyPatch(patch('one', '1'), files, folder, { mutex }),
      applyPatch(patch('two', '2'), files, folder, { mutex }),
    ]);

    expect(read('a.txt')).toBe('1\n2\n');
  });

  it('touches nothing once it has been cancelled', async () => {
    const text = '*** Begin Patch\n*** Add File: new\n+x\n*** End Patch';

    await expect(applyPatch(text, files, folder, { signal: AbortSignal.abort() })).rejects.toThrow(/abort/i);
    untouched();
  });

  it('goes to the directory that a command names', async () => {
    mkdirSync(join(folder, 'sub'));
    const text = '*** Begin Patch\n*** Add File: new\n+x\n*** End Patch';
    const command = { text, directory: 'sub', isExplicit: true };

    expect((await applyPatchCommand(command, files, folder)).success).toBe(true);
    expect(existsSync(join(folder, 'sub/new'))).toBe(true);
    expect(await applyPatchCommand({ ...command, isExplicit: false }, files, folder)).toEqual({
      success: false,
      files: [],
      text: 'apply_patch verification failed: patch detected without explicit call to apply_patch. Rerun as ["apply_patch", "<patch>"]',
    });
  });
});
