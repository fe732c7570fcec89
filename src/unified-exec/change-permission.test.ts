import { describe, expect, it } from 'vitest';
import { mayWrite } from './change-permission.ts';
import { withAdditional } from './permissions.ts';
import { permissionsOf } from './sandbox-mode.ts';

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
});
