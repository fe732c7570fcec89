import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { deferred } from '../../../src/base/index.ts';
import { appeared, eventually, uniqueSeconds } from '../../support/proc.ts';
import { base64 } from '../../support/wire-client.ts';
import { refusal } from '../files/fixture.ts';
import { accounts, outcomeOf, path, SandboxFixture, special, uri, workspaceWrite } from './fixture.ts';

/** What the real client sends for a workspace. */
const workspaceOfCodex = [
  ...workspaceWrite,
  ...['.git', '.agents', '.codex'].map((subpath) => ({
    ...special('project_roots', 'read', { subpath }),
    missing_path_behavior: 'skip',
  })),
];

describe.each(accounts)('the workspace on the disk, while a server of $name is at work in it', (account) => {
  let fixture: SandboxFixture;
  beforeAll(async () => {
    fixture = await SandboxFixture.open(account);
  });
  beforeEach(() => {
    fixture.reset();
    rmSync(fixture.at('workspace/.git'), { recursive: true });
  });
  afterAll(() => fixture[Symbol.asyncDispose]());

  const sandbox = (entries: readonly object[] = workspaceOfCodex) => ({
    permissions: { type: 'managed', file_system: { type: 'restricted', entries }, network: 'restricted' },
    windowsSandboxLevel: 'disabled',
    cwd: uri(fixture.workspace),
    workspaceRoots: [uri(fixture.workspace)],
  });
  const call = (method: string, params: Readonly<Record<string, unknown>>) => {
    for (const member of ['path', 'sourcePath', 'destinationPath']) {
      const place = params[member];
      if (place !== undefined && !String(place).startsWith(uri(fixture.at(''))))
        throw new Error(`${place} is not in the fixture`);
    }
    return fixture.client.call(method, { sandbox: sandbox(), ...params });
  };
  const at = (name: string) => uri(join(fixture.workspace, name));
  const write = (name: string, more: object = {}) =>
    call('fs/writeFile', { path: at(name), dataBase64: base64('x'), ...more });
  const readOnlyDisk = { code: -32603, message: 'Read-only file system (os error 30)' };

  it('shows nothing but what file calls write, not for a moment', async () => {
    const seen = new Set<string>();
    const last = deferred<void>();
    const watcher = watch(fixture.workspace, (_, name) => {
      seen.add(String(name));
      if (name === 'last') last.resolve();
    });
    await write('first');
    expect(readdirSync(fixture.workspace).sort()).toEqual(['a.txt', 'first', 'sub']);
    await write('second', {
      sandbox: sandbox([...workspaceOfCodex, path(join(fixture.workspace, 'nope/deep'), 'deny')]),
    });
    writeFileSync(join(fixture.workspace, 'last'), '');
    await last.promise;
    watcher.close();
    expect([...seen].sort()).toEqual(['first', 'last', 'second']);
  });

  it.each(['.git', '.agents', '.codex', '.aws'])('gets no %s from a file call', async (name) => {
    fixture.mkdir('workspace/sub/tree');
    fixture.mkdir(`workspace/sub/tree/${name}`);
    fixture.write(`workspace/sub/tree/${name}/config`, 'x');
    symlinkSync(name, fixture.at('workspace/link'));
    symlinkSync(`sub/../${name}`, fixture.at('workspace/sub/farther'));
    symlinkSync('../link', fixture.at('workspace/sub/chain'));
    const copied = { sourcePath: at('sub/tree'), destinationPath: at(''), recursive: true };
    const single = { sourcePath: at('a.txt'), recursive: false };
    const attempts: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
      ['fs/writeFile', { path: at(name), dataBase64: '' }],
      ['fs/writeFile', { path: at(name), dataBase64: '', followSymlinks: false }],
      ['fs/writeFile', { path: at(`${name}/config`), dataBase64: '' }],
      ['fs/writeFile', { path: at('link'), dataBase64: '' }],
      ['fs/writeFile', { path: at('sub/chain'), dataBase64: '' }],
      ['fs/open', { handleId: 'h', path: at(name), mode: 'replace' }],
      ['fs/open', { handleId: 'h', path: at('link'), mode: 'replace' }],
      ['fs/createDirectory', { path: at(name) }],
      ['fs/createDirectory', { path: at(name), recursive: false }],
      ['fs/createDirectory', { path: at(name), followSymlinks: false }],
      ['fs/createDirectory', { path: at(`${name}/hooks/more`), recursive: true }],
      ['fs/createDirectory', { path: at(`${name}/hooks/more`), recursive: true, followSymlinks: false }],
      ['fs/copy', copied],
      ['fs/copy', { ...copied, destinationPath: at(name) }],
      ['fs/copy', { ...copied, destinationPath: at(`${name}/below`) }],
      ['fs/copy', { ...single, destinationPath: at(name) }],
      ['fs/copy', { ...single, destinationPath: at('sub/chain') }],
      ['fs/copy', { ...single, sourcePath: at('link'), destinationPath: at(name) }],
      ['fs/rename', { sourcePath: at('a.txt'), destinationPath: at(name) }],
      ['fs/rename', { sourcePath: at('sub/tree'), destinationPath: at(name), overwrite: true }],
      ['fs/rename', { sourcePath: at('a.txt'), destinationPath: at(`${name}/config`) }],
      ['fs/rename', { sourcePath: at(name), destinationPath: at('sub/away') }],
    ];
    for (const [method, params] of attempts) {
      expect([method, params, await refusal(call(method, params))]).toEqual([method, params, readOnlyDisk]);
      expect(existsSync(join(fixture.workspace, name))).toBe(false);
    }
    await write(`sub/${name}`);
  });

  it('has nothing to remove below a name that is missing and protected', async () => {
    for (const below of ['.git/x', '.codex/x/y']) {
      const remove = (more: object) => call('fs/remove', { path: at(below), ...more });
      await expect(remove({})).resolves.toEqual({});
      await expect(remove({ recursive: true, force: true })).resolves.toEqual({});
      expect(await refusal(remove({ force: false }))).toMatchObject({ code: -32004 });
    }
    expect(await refusal(call('fs/remove', { path: at('.git') }))).toEqual(readOnlyDisk);
  });

  it('gets no file call into a repository that is made while a helper is warm', async () => {
    await write('first');
    const made = Promise.all([write('.git/hooks/pre-commit').catch(() => {}), write('a').catch(() => {})]);
    fixture.mkdir('workspace/.git/hooks');
    await made;
    const calls = Array.from({ length: 20 }, () => refusal(write('.git/hooks/pre-commit')));
    for (const answer of await Promise.all(calls)) expect(answer).toEqual(readOnlyDisk);
    expect(await refusal(call('fs/remove', { path: at('.git'), recursive: true }))).toMatchObject({ code: -32603 });
    expect(readdirSync(fixture.at('workspace/.git/hooks'))).toEqual([]);
  });

  it('is no broken repository while a command runs, and as it was afterwards', async () => {
    const outer = fixture.at('workspace');
    execFileSync('git', ['init', '-q', outer]);
    own(outer);
    fixture.mkdir('workspace/package');
    fixture.write('workspace/package/file', 'x');
    const root = join(outer, 'package');
    const entries = [...workspaceOfCodex, path(join(root, '.git'), 'deny')];
    const seconds = uniqueSeconds();
    const long = await fixture.start(`exec sleep ${seconds}`, {
      entries,
      cwd: root,
      sandbox: { workspaceRoots: [uri(root)] },
    });
    await appeared(seconds);
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'safe.directory=*', '-C', root, ...args], { encoding: 'utf8' });
    expect(git('rev-parse', '--show-toplevel').trim()).toBe(outer);
    expect(git('status', '--short')).toContain('./');
    expect(lstatSync(join(root, '.git')).isDirectory()).toBe(true);
    await fixture.client.call('process/terminate', { processId: long.id });
    await outcomeOf(long);
    expect(readdirSync(root)).toEqual(['file']);
    expect(readFileSync(join(root, 'file'), 'utf8')).toBe('x');
  });

  it('loses what a command kept from being removed as soon as that is possible', async () => {
    const before = readdirSync(fixture.workspace);
    expect((await fixture.run('chmod 555 .', { entries: workspaceWrite })).exitCode).toBe(0);

    chmodSync(fixture.workspace, 0o755);
    await eventually('the end of what was left', () => !existsSync(fixture.at('workspace/.git')));
    expect(readdirSync(fixture.workspace)).toEqual(before);
  });

  function own(folder: string): void {
    for (const name of ['', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })]) {
      chownSync(join(folder, name), account.uid, account.gid);
    }
  }
});
