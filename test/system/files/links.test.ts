import { chmodSync, lstatSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accounts, restrictedRead, SandboxFixture, uri } from '../sandbox/fixture.ts';
import { FilesFixture, refusal } from './fixture.ts';

type Metadata = Readonly<Record<string, unknown>>;

describe('links', () => {
  let fixture: FilesFixture;
  beforeAll(async () => {
    fixture = await FilesFixture.open();
    mkdirSync(fixture.at('d/real'), { recursive: true });
    writeFileSync(fixture.at('d/file'), 'x');
    chmodSync(fixture.at('d/file'), 0o4750);
    symlinkSync('file', fixture.at('d/link'));
    symlinkSync('real', fixture.at('d/way'));
    symlinkSync('nowhere', fixture.at('d/broken'));
    symlinkSync('.././file', fixture.at('d/real/up'));
    symlinkSync('/', fixture.at('d/root'));
  });
  afterAll(() => fixture[Symbol.asyncDispose]());

  const entriesOf = async (more: object): Promise<unknown[]> => {
    const { entries } = await fixture.call<{ entries: { fileName: string }[] }>('fs/readDirectory', {
      path: fixture.uri('d'),
      ...more,
    });
    return entries.toSorted((a, b) => (a.fileName < b.fileName ? -1 : 1));
  };
  const metadata = (name: string, more: object = { link: true }): Promise<Metadata> =>
    fixture.call('fs/getMetadata', { path: fixture.uri(name), ...more });

  it('are told apart in a listing that asks for them, those to nothing too', async () => {
    expect(await entriesOf({ links: true })).toEqual([
      { fileName: 'broken', isDirectory: false, isFile: false, isSymlink: true },
      { fileName: 'file', isDirectory: false, isFile: true, isSymlink: false },
      { fileName: 'link', isDirectory: false, isFile: true, isSymlink: true },
      { fileName: 'real', isDirectory: true, isFile: false, isSymlink: false },
      { fileName: 'root', isDirectory: true, isFile: false, isSymlink: true },
      { fileName: 'way', isDirectory: true, isFile: false, isSymlink: true },
    ]);
  });

  it.each([{}, { links: false }, { links: null }])('look like what they lead to in a listing with %j', async (more) => {
    expect(await entriesOf(more)).toEqual([
      { fileName: 'file', isDirectory: false, isFile: true },
      { fileName: 'link', isDirectory: false, isFile: true },
      { fileName: 'real', isDirectory: true, isFile: false },
      { fileName: 'root', isDirectory: true, isFile: false },
      { fileName: 'way', isDirectory: true, isFile: false },
    ]);
  });

  it('are described themselves, with owner, permissions and target', async () => {
    const { uid, gid, size } = lstatSync(fixture.at('d/link'));
    const own = { isDirectory: false, isFile: false, isSymlink: true, uid, gid, mode: 0o777 };
    expect(await metadata('d/link')).toMatchObject({ ...own, size, linkTarget: fixture.uri('d/file') });
    expect(await metadata('d/broken')).toMatchObject({ ...own, linkTarget: fixture.uri('d/nowhere') });
    expect(await metadata('d/root')).toMatchObject({ ...own, linkTarget: 'file:///' });
  });

  it('are described by where they really are', async () => {
    expect(await metadata('d/way/up')).toMatchObject({ linkTarget: uri(realpathSync(fixture.at('d/file'))) });
  });

  it('leave the description of other entries as it is, with owner and permissions', async () => {
    const plain = await metadata('d/file', {});
    const { uid, gid } = lstatSync(fixture.at('d/file'));
    expect(await metadata('d/file')).toEqual({ ...plain, mode: 0o4750, uid, gid });
    expect(Object.keys(plain)).toEqual(['isDirectory', 'isFile', 'isSymlink', 'size', 'createdAtMs', 'modifiedAtMs']);
  });

  it('may be described, but not lead, where none may be followed', async () => {
    const none = { link: true, followSymlinks: false };
    expect(await metadata('d/link', none)).toMatchObject({ isSymlink: true });
    expect(await refusal(metadata('d/way/up', none))).toMatchObject({ message: 'Not a directory (os error 20)' });
    expect(await refusal(metadata('d/link', { followSymlinks: false }))).toMatchObject({ code: -32600 });
  });
});

it.each(accounts)('links are described inside a sandbox, for a server run by $name', async (account) => {
  await using fixture = await SandboxFixture.open(account);
  symlinkSync('/etc/shadow', `${fixture.workspace}/link`);
  const sandbox = {
    permissions: {
      type: 'managed',
      file_system: { type: 'restricted', entries: restrictedRead },
      network: 'restricted',
    },
    windowsSandboxLevel: 'disabled',
    cwd: uri(fixture.workspace),
    workspaceRoots: [uri(fixture.workspace)],
  };
  const call = (method: string, more: object): Promise<Metadata> => fixture.client.call(method, { sandbox, ...more });
  const path = uri(`${fixture.workspace}/link`);
  expect(await call('fs/getMetadata', { path, link: true })).toMatchObject({
    isSymlink: true,
    linkTarget: 'file:///etc/shadow',
  });
  const { entries } = await call('fs/readDirectory', { path: uri(fixture.workspace), links: true });
  expect(entries).toContainEqual({
    fileName: 'link',
    isDirectory: false,
    isFile: expect.any(Boolean),
    isSymlink: true,
  });
});
