import { chmodSync, existsSync, lstatSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { accounts, path, readOnly, SandboxFixture, uri, workspaceWrite } from '../sandbox/fixture.ts';
import { FilesFixture, refusal } from './fixture.ts';

const modeOf = (file: string): number => statSync(file).mode & 0o7777;

describe('fs/setPermissions', () => {
  let fixture: FilesFixture;
  beforeAll(async () => {
    fixture = await FilesFixture.open();
  });
  afterAll(() => fixture[Symbol.asyncDispose]());
  const set = (name: string, mode: number, more: object = {}) =>
    fixture.call('fs/setPermissions', { path: fixture.uri(name), mode, ...more });

  it.each([0o644, 0o755, 0o000, 0o1777])('gives a file the permissions %o', async (mode) => {
    writeFileSync(fixture.at('f'), '');
    await expect(set('f', mode)).resolves.toEqual({});
    expect(modeOf(fixture.at('f'))).toBe(mode);
  });

  it.each([0o4755, 0o2755, 0o10000, -1, 1.5])('refuses %s as a mode, and changes nothing', async (mode) => {
    writeFileSync(fixture.at('g'), '');
    chmodSync(fixture.at('g'), 0o640);
    expect(await refusal(set('g', mode))).toMatchObject({ code: -32602 });
    expect(modeOf(fixture.at('g'))).toBe(0o640);
  });

  it('says what a mode may be', async () => {
    expect(await refusal(set('g', 0o4755))).toEqual({
      code: -32602,
      message: 'mode must be from 0 to 1023 (0o1777): permissions and the sticky bit',
    });
  });

  it('takes set-user-ID from a file, and leaves a directory to its group', async () => {
    writeFileSync(fixture.at('program'), '');
    chmodSync(fixture.at('program'), 0o4755);
    mkdirSync(fixture.at('shared'));
    chmodSync(fixture.at('shared'), 0o2775);
    await set('program', 0o755);
    await set('shared', 0o770);
    expect([modeOf(fixture.at('program')), modeOf(fixture.at('shared'))]).toEqual([0o755, 0o2770]);
  });

  it('follows links unless it is told not to', async () => {
    writeFileSync(fixture.at('target'), '');
    chmodSync(fixture.at('target'), 0o600);
    symlinkSync('target', fixture.at('link'));
    expect(await refusal(set('link', 0o640, { followSymlinks: false }))).toEqual({
      code: -32600,
      message: 'path contains a symbolic link',
    });
    expect(modeOf(fixture.at('target'))).toBe(0o600);
    await set('link', 0o640);
    expect([modeOf(fixture.at('target')), lstatSync(fixture.at('link')).isSymbolicLink()]).toEqual([0o640, true]);
  });

  it('says that there is no such file', async () => {
    expect(await refusal(set('nothing', 0o600))).toMatchObject({ code: -32004 });
  });
});

describe.each(accounts)('fs/setPermissions in a sandbox, for a server run by $name', (account) => {
  let fixture: SandboxFixture;
  beforeAll(async () => {
    fixture = await SandboxFixture.open(account);
  });
  beforeEach(() => fixture.reset());
  afterAll(() => fixture[Symbol.asyncDispose]());

  const set = (file: string, mode: number, entries = workspaceWrite, more: object = {}) => {
    if (!file.startsWith(fixture.at(''))) throw new Error(`${file} is not in the fixture`);
    return fixture.client.call('fs/setPermissions', {
      path: uri(file),
      mode,
      sandbox: {
        permissions: { type: 'managed', file_system: { type: 'restricted', entries }, network: 'restricted' },
        windowsSandboxLevel: 'disabled',
        cwd: uri(fixture.workspace),
        workspaceRoots: [uri(fixture.workspace)],
      },
      ...more,
    });
  };
  const inWorkspace = (name: string): string => join(fixture.workspace, name);

  it('works where it may write', async () => {
    await set(inWorkspace('a.txt'), 0o400);
    expect(modeOf(inWorkspace('a.txt'))).toBe(0o400);
    await set(inWorkspace('a.txt'), 0o600, workspaceWrite, { followSymlinks: false });
    expect(modeOf(inWorkspace('a.txt'))).toBe(0o600);
  });

  it('changes nothing that is outside, read-only, denied or protected, through links neither', async () => {
    const outside = join(fixture.outside, 'secret');
    fixture.write('workspace/secret', 'secret\n');
    symlinkSync(outside, inWorkspace('way-out'));
    symlinkSync('.git/config', inWorkspace('way-in'));
    const denying = [...workspaceWrite, path(inWorkspace('secret'), 'deny')];
    const attempts: [string, typeof workspaceWrite?][] = [
      [outside],
      [inWorkspace('way-out')],
      [inWorkspace('way-in')],
      [inWorkspace('.git/config')],
      [inWorkspace('.git')],
      [inWorkspace('secret'), denying],
      [inWorkspace('a.txt'), readOnly],
    ];
    const files = [
      outside,
      inWorkspace('.git/config'),
      inWorkspace('.git'),
      inWorkspace('secret'),
      inWorkspace('a.txt'),
    ];
    const before = files.map(modeOf);
    for (const [file, entries] of attempts) await expect(set(file, 0o777, entries)).rejects.toThrow(/os error/);
    expect(files.map(modeOf)).toEqual(before);
  });

  it('refuses a protected name that appears after the helper has started', async () => {
    await set(inWorkspace('a.txt'), 0o600);
    expect(existsSync(inWorkspace('.codex'))).toBe(false);
    fixture.mkdir('workspace/.codex');
    const before = modeOf(inWorkspace('.codex'));
    await expect(set(inWorkspace('.codex'), 0o777)).rejects.toThrow(/os error/);
    expect(modeOf(inWorkspace('.codex'))).toBe(before);
  });
});
