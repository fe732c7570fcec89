import { readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Scope } from '../../../src/base/index.ts';
import { ExecServerClient, RemoteFileSystem } from '../../../src/client/index.ts';
import { LocalFileSystem } from '../../../src/host/files/index.ts';
import { webSocket } from '../../../src/link/index.ts';
import { type ExecutorFileSystem, PathUri, type Sandbox } from '../../../src/protocol/index.ts';
import { testSandboxes } from '../../support/host.ts';
import { connectHarness, TestEnvironment } from '../../support/remote-fixture.ts';
import { ScriptedRegistry } from '../../support/scripted-registry.ts';
import { FilesFixture } from './fixture.ts';

let fixture: FilesFixture;
let count = 0;
beforeAll(async () => {
  fixture = await FilesFixture.open();
});
afterAll(() => fixture[Symbol.asyncDispose]());

interface Opened extends AsyncDisposable {
  readonly files: ExecutorFileSystem;
}

async function remote(): Promise<Opened> {
  const client = await ExecServerClient.connect(webSocket(fixture.server.url));
  return { files: new RemoteFileSystem(client), [Symbol.asyncDispose]: () => client.close() };
}

async function local(): Promise<Opened> {
  const files = new LocalFileSystem({ sandboxes: testSandboxes() });
  return { files, [Symbol.asyncDispose]: () => files[Symbol.asyncDispose]() };
}

async function relayed(): Promise<Opened> {
  const scope = new Scope();
  const registry = scope.own(await ScriptedRegistry.start());
  scope.own(new TestEnvironment(registry));
  await registry.connected();
  const client = scope.own(await connectHarness(registry));
  return { files: new RemoteFileSystem(client), [Symbol.asyncDispose]: () => scope[Symbol.asyncDispose]() };
}

const limits = { maxDepth: 8, maxDirectories: 100, maxEntries: 1000, followDirectorySymlinks: false };

describe.each([
  { place: 'this machine', open: local },
  { place: 'a server', open: remote },
  { place: 'a server behind a relay', open: relayed },
])('the filesystem of $place', ({ open }) => {
  let opened: Opened;
  let root: PathUri;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened[Symbol.asyncDispose]());
  beforeEach(async () => {
    root = PathUri.fromNative(fixture.at(`client${count++}-${process.pid}`));
    await opened.files.createDirectory(root);
  });

  const native = (name: string): string => `${root.toNative()}/${name}`;
  const at = (name: string): PathUri => PathUri.fromNative(`${root.toNative()}/${name}`);

  it('does everything a filesystem does', async () => {
    const { files } = opened;
    await files.createDirectory(at('a/b'));
    await files.writeFile(at('a/b/f'), Buffer.from('hello'));
    expect(Buffer.from(await files.readFile(at('a/b/f'))).toString()).toBe('hello');
    expect(await files.getMetadata(at('a/b/f'))).toMatchObject({ isFile: true, isDirectory: false, size: 5 });
    expect((await files.canonicalize(at('a/b/../b/f'))).href).toBe(at('a/b/f').href);
    expect(await files.readDirectory(at('a'))).toEqual([{ fileName: 'b', isDirectory: true, isFile: false }]);
    await files.copy(at('a'), at('c'), { recursive: true });
    expect((await files.walk(root, limits)).entries.map(({ path, kind }) => [path.href, kind])).toEqual([
      [at('a').href, 'directory'],
      [at('c').href, 'directory'],
      [at('a/b').href, 'directory'],
      [at('c/b').href, 'directory'],
      [at('a/b/f').href, 'file'],
      [at('c/b/f').href, 'file'],
    ]);
    await files.remove(at('a'));
    await files.rename(at('c'), at('d'));
    expect(readdirSync(root.toNative() as string)).toEqual(['d']);
    await expect(files.readFile(at('a/b/f'))).rejects.toMatchObject({ kind: 'notFound' });
    await expect(files.remove(at('a'), { force: false })).rejects.toMatchObject({ kind: 'notFound' });
  });

  it('streams a file of many blocks in order', async () => {
    const { files } = opened;
    const pieces = Array.from({ length: 9 }, (_, n) => Buffer.alloc(700_001, n));
    expect(await files.write(at('streamed'), pieces)).toBe(9 * 700_001);
    const read: Uint8Array[] = [];
    for await (const bytes of files.read(at('streamed'))) read.push(bytes);
    expect(Buffer.concat(read).equals(Buffer.concat(pieces))).toBe(true);
    expect(statSync(at('streamed').toNative() as string).size).toBe(9 * 700_001);
  });

  it('appends, changes permissions, and describes links', async () => {
    const { files } = opened;
    await files.writeFile(at('log'), Buffer.from('old\n'));
    expect(await files.append(at('log'), [Buffer.from('one\n'), Buffer.alloc(2_100_000, 'x')])).toBe(2_100_004);
    expect(readFileSync(native('log'), 'utf8')).toBe(`old\none\n${'x'.repeat(2_100_000)}`);
    await files.setPermissions(at('log'), 0o640);
    symlinkSync('log', native('link'));
    symlinkSync('nowhere', native('broken'));
    expect(await files.getMetadata(at('log'), { link: true })).toMatchObject({ mode: 0o640, isSymlink: false });
    const { linkTarget } = await files.getMetadata(at('link'), { link: true });
    expect(linkTarget?.href).toBe(at('log').href);
    const entries = await files.readDirectory(root, { links: true });
    expect(Object.fromEntries(entries.map(({ fileName, isSymlink }) => [fileName, isSymlink]))).toEqual({
      log: false,
      link: true,
      broken: true,
    });
  });

  it('watches a tree', async () => {
    const { files } = opened;
    if (!(files instanceof RemoteFileSystem)) return; // this machine's has no client to tell
    await files.createDirectory(at('d'));
    const watch = await files.watch(root, { recursive: true });
    const told: string[] = [];
    await files.writeFile(at('d/f'), Buffer.from('x'));
    await files.rename(at('d'), at('e'));
    await files.remove(root);
    for await (const { changes, overflow } of watch) {
      expect(overflow).toBeUndefined();
      for (const { kind, path } of changes) told.push(`${kind} ${path.href.slice(root.href.length)}`);
    }
    expect(told).toEqual(['created /d/f', 'renamed /e', 'removed /e/f', 'removed /e', 'removed ']);
    await watch[Symbol.asyncDispose]();
    await expect(files.watch(at('gone'))).rejects.toMatchObject({ kind: 'notFound' });
  });

  it('keeps to a sandbox', async () => {
    const { files } = opened;
    const sandbox: Sandbox = {
      permissions: {
        type: 'managed',
        file_system: {
          type: 'restricted',
          entries: [{ path: { type: 'special', value: { kind: 'root' } }, access: 'read' }],
        },
        network: 'restricted',
      },
      windowsSandboxLevel: 'disabled',
    };
    await expect(files.writeFile(at('f'), Buffer.from('x'), { sandbox })).rejects.toMatchObject({
      message: 'Read-only file system (os error 30)',
    });
    await expect(files.write(at('f'), [Buffer.from('x')], { sandbox })).rejects.toMatchObject({
      message: 'Read-only file system (os error 30)',
    });
    expect(await files.readDirectory(root, { sandbox })).toEqual([]);
  });
});
