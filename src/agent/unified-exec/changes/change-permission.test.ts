import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PathUri } from '../../../protocol/index.ts';
import { type EnvironmentSettings, withAdditional } from '../plan/permissions.ts';
import { permissionsOf } from '../plan/sandbox-mode.ts';
import { couldWrite, mayWrite } from './change-permission.ts';

const project = { cwd: '/w', permissions: permissionsOf('workspace-write') };

describe('what a profile lets be written', () => {
  it.each([
    ['/w/a', true],
    ['/w', true],
    ['/wide', false],
    ['/tmp/a', true],
    ['/etc/hosts', false],
    ['/w/.git/config', false],
    ['/w/.codex', false],
    ['/w/a/.git/config', true],
    ['/w/.gitignore', true],
  ])('is told by the name of a path: %s, %s', (path, expected) => {
    expect(mayWrite(project, path)).toBe(expected);
  });

  it('is nothing in one mode and everything in another', () => {
    const paths = ['/w/a', '/tmp/a', '/etc/hosts'];
    const judged = (mode: 'read-only' | 'danger-full-access') =>
      paths.map((path) => mayWrite({ cwd: '/w', permissions: permissionsOf(mode) }, path));

    expect([judged('read-only'), judged('danger-full-access')]).toEqual([
      [false, false, false],
      [true, true, true],
    ]);
  });

  it.each([
    ['/var/mine', true],
    ['/var/mine/', true],
    [undefined, false],
    ['/', false],
    ['var', false],
  ])('has the temporary directory in it where it is known: %s, %s', (tmpdir, expected) => {
    expect(mayWrite(project, '/var/mine/a', tmpdir)).toBe(expected);
  });

  it('grows by what is granted, but for the names that are protected in it', () => {
    const granted = withAdditional(project, { file_system: { write: ['/etc', '/w/.git/hooks'] } });

    expect(
      ['/etc/hosts', '/w/.git/hooks/a', '/w/.git/config', '/etc/.codex/a'].map((path) => mayWrite(granted, path)),
    ).toEqual([true, true, false, false]);
  });

  it('counts links, on both sides', () => {
    const folder = realpathSync(mkdtempSync('/var/tmp/exec-server-links-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    mkdirSync(join(folder, 'real'));
    symlinkSync('real', join(folder, 'link'));
    const settings = (path: string): EnvironmentSettings => ({
      permissions: {
        type: 'managed',
        network: 'restricted',
        file_system: {
          type: 'restricted',
          entries: [{ path: { type: 'path', path: PathUri.fromNative(path) }, access: 'write' }],
        },
      },
    });

    const judged = (['link real', 'real link', 'link link', 'link .'] as const).map((names) => {
      const [root, path] = names.split(' ').map((name) => join(folder, name)) as [string, string];
      return couldWrite(settings(root), join(path, 'new/file'), undefined);
    });
    expect(judged).toEqual([true, true, true, false]);
  });
});
