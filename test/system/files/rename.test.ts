import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { accounts, path, SandboxFixture, uri, workspaceWrite } from '../sandbox/fixture.ts';
import { FilesFixture, refusal } from './fixture.ts';

const fileExists = { code: -32603, message: 'File exists (os error 17)' };
const otherFilesystem = { code: -32603, message: 'Cross-device link (os error 18)' };
const readOnlyDisk = { code: -32603, message: 'Read-only file system (os error 30)' };

/** A directory on another filesystem than the temporary directory. */
function inSharedMemory(): string {
  const folder = realpathSync(mkdtempSync('/dev/shm/exec-server-rename-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('fs/rename', () => {
  let fixture: FilesFixture;
  let count = 0;
  let root: string;
  beforeAll(async () => {
    fixture = await FilesFixture.open();
  });
  afterAll(() => fixture[Symbol.asyncDispose]());
  beforeEach(() => {
    root = `r${count++}`;
    mkdirSync(fixture.at(root));
  });
  const at = (name: string): string => fixture.at(root, name);
  const rename = (source: string, destination: string, more: object = {}) =>
    fixture.call('fs/rename', {
      sourcePath: fixture.uri(`${root}/${source}`),
      destinationPath: fixture.uri(`${root}/${destination}`),
      ...more,
    });

  it('gives a file another name', async () => {
    writeFileSync(at('a'), 'content');
    const { ino } = lstatSync(at('a'));
    await expect(rename('a', 'b')).resolves.toEqual({});
    expect([existsSync(at('a')), readFileSync(at('b'), 'utf8'), lstatSync(at('b')).ino]).toEqual([
      false,
      'content',
      ino,
    ]);
  });

  it.each([
    ['is not asked to overwrite', {}],
    ['is told not to', { overwrite: false }],
    ['says nothing about it', { overwrite: null }],
  ])('leaves what is there when it %s', async (_, more) => {
    writeFileSync(at('a'), 'new');
    writeFileSync(at('b'), 'old');
    expect(await refusal(rename('a', 'b', more))).toEqual(fileExists);
    expect([readFileSync(at('a'), 'utf8'), readFileSync(at('b'), 'utf8')]).toEqual(['new', 'old']);
  });

  it('replaces a file when it is asked to', async () => {
    writeFileSync(at('a'), 'new');
    writeFileSync(at('b'), 'old');
    await rename('a', 'b', { overwrite: true });
    expect([existsSync(at('a')), readFileSync(at('b'), 'utf8')]).toEqual([false, 'new']);
  });

  it('moves a directory with all that is in it, over an empty one alone', async () => {
    mkdirSync(at('d/deep'), { recursive: true });
    writeFileSync(at('d/deep/f'), 'kept');
    mkdirSync(at('empty'));
    mkdirSync(at('full/x'), { recursive: true });
    await rename('d', 'empty', { overwrite: true });
    expect(readFileSync(at('empty/deep/f'), 'utf8')).toBe('kept');
    expect(await refusal(rename('empty', 'full', { overwrite: true }))).toEqual({
      code: -32603,
      message: 'Directory not empty (os error 39)',
    });
    expect(await refusal(rename('empty', 'empty/deep/inside'))).toEqual({
      code: -32600,
      message: 'Invalid argument (os error 22)',
    });
  });

  it('moves a link and not what it leads to', async () => {
    writeFileSync(at('target'), 'kept');
    symlinkSync('target', at('link'));
    symlinkSync('nowhere', at('dangling'));
    await rename('link', 'moved');
    await rename('dangling', 'moved', { overwrite: true });
    expect([readlinkSync(at('moved')), readFileSync(at('target'), 'utf8')]).toEqual(['nowhere', 'kept']);
  });

  it('says that there is nothing to rename, or no directory to hold it', async () => {
    writeFileSync(at('a'), '');
    const missing = { code: -32004, message: 'No such file or directory (os error 2)' };
    expect(await refusal(rename('nothing', 'b'))).toEqual(missing);
    expect(await refusal(rename('a', 'nothing/b'))).toEqual(missing);
  });

  it('says that it does not reach another filesystem, and changes nothing', async () => {
    const other = inSharedMemory();
    writeFileSync(at('a'), 'stays');
    const move = { sourcePath: fixture.uri(`${root}/a`), destinationPath: uri(join(other, 'a')) };
    expect(await refusal(fixture.client.call('fs/rename', move))).toEqual(otherFilesystem);
    expect([readFileSync(at('a'), 'utf8'), existsSync(join(other, 'a'))]).toEqual(['stays', false]);
  });
});

describe.each(accounts)('fs/rename in a sandbox, for a server run by $name', (account) => {
  let fixture: SandboxFixture;
  beforeAll(async () => {
    fixture = await SandboxFixture.open(account);
  });
  beforeEach(() => fixture.reset());
  afterAll(() => fixture[Symbol.asyncDispose]());

  const inWorkspace = (name: string): string => join(fixture.workspace, name);
  const rename = (source: string, destination: string, entries = workspaceWrite, more: object = {}) => {
    for (const place of [source, destination]) {
      if (!place.startsWith(fixture.at('')) && !place.startsWith('/dev/shm/exec-server-rename-')) {
        throw new Error(`${place} is not in the fixture`);
      }
    }
    return fixture.client.call('fs/rename', {
      sourcePath: uri(source),
      destinationPath: uri(destination),
      sandbox: {
        permissions: { type: 'managed', file_system: { type: 'restricted', entries }, network: 'restricted' },
        windowsSandboxLevel: 'disabled',
        cwd: uri(fixture.workspace),
        workspaceRoots: [uri(fixture.workspace)],
      },
      ...more,
    });
  };

  it('works where it may write, over what is there when asked to', async () => {
    fixture.write('workspace/b.txt', 'old\n');
    expect(await refusal(rename(inWorkspace('a.txt'), inWorkspace('b.txt')))).toEqual(fileExists);
    await rename(inWorkspace('a.txt'), inWorkspace('b.txt'), workspaceWrite, { overwrite: true });
    await rename(inWorkspace('sub'), inWorkspace('other'));
    expect([readFileSync(inWorkspace('b.txt'), 'utf8'), lstatSync(inWorkspace('other')).isDirectory()]).toEqual([
      'a\n',
      true,
    ]);
  });

  it('takes nothing out of a place that is read-only or denied, and puts nothing there', async () => {
    fixture.write('workspace/secret', 'secret\n');
    const denying = [...workspaceWrite, path(inWorkspace('secret'), 'deny')];
    expect(await refusal(rename(join(fixture.outside, 'secret'), inWorkspace('x')))).toMatchObject({ code: -32603 });
    expect(await refusal(rename(inWorkspace('a.txt'), join(fixture.outside, 'x')))).toMatchObject({ code: -32603 });
    for (const overwrite of [false, true]) {
      await expect(rename(inWorkspace('secret'), inWorkspace('x'), denying, { overwrite })).rejects.toThrow();
      await expect(rename(inWorkspace('a.txt'), inWorkspace('secret'), denying, { overwrite })).rejects.toThrow();
    }
    expect([readFileSync(inWorkspace('secret'), 'utf8'), readFileSync(inWorkspace('a.txt'), 'utf8')]).toEqual([
      'secret\n',
      'a\n',
    ]);
    expect(existsSync(inWorkspace('x'))).toBe(false);
  });

  it('moves no directory away with what is denied in it', async () => {
    fixture.mkdir('workspace/holder/deep');
    fixture.write('workspace/holder/deep/secret', 'secret\n');
    const denying = [...workspaceWrite, path(inWorkspace('holder/deep/secret'), 'deny')];
    await expect(rename(inWorkspace('holder'), inWorkspace('away'), denying)).rejects.toThrow(/busy/i);
    expect(existsSync(inWorkspace('away'))).toBe(false);
  });

  it('puts no directory in the place of one in which a name must stay missing', async () => {
    fixture.mkdir('workspace/tree');
    fixture.write('workspace/tree/later', 'x');
    const denying = [...workspaceWrite, path(inWorkspace('sub/later'), 'deny')];
    expect(await refusal(rename(inWorkspace('tree'), inWorkspace('sub'), denying, { overwrite: true }))).toEqual(
      readOnlyDisk,
    );
    expect(await refusal(rename(inWorkspace('sub'), inWorkspace('away'), denying))).toEqual(readOnlyDisk);
    expect(existsSync(inWorkspace('sub/later'))).toBe(false);
  });

  it('touches no protected name', async () => {
    for (const name of ['.git', '.codex']) {
      expect(
        await refusal(rename(inWorkspace('sub'), inWorkspace(name), workspaceWrite, { overwrite: true })),
      ).toMatchObject({
        code: -32603,
      });
      expect(await refusal(rename(inWorkspace(name), inWorkspace('away')))).toMatchObject({ code: -32603 });
    }
    expect([existsSync(inWorkspace('.git/config')), existsSync(inWorkspace('.codex'))]).toEqual([true, false]);
  });

  it('says that it does not reach another filesystem', async () => {
    const other = inSharedMemory();
    chownSync(other, account.uid, account.gid);
    const both = [...workspaceWrite, path(other, 'write')];
    expect(await refusal(rename(inWorkspace('a.txt'), join(other, 'a.txt'), both))).toEqual(otherFilesystem);
    expect(existsSync(inWorkspace('a.txt'))).toBe(true);
  });
});
