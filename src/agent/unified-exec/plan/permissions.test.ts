import { describe, expect, it } from 'vitest';
import { networkRules } from '../../../../test/support/network-rules.ts';
import { PathUri, type PermissionEntry, type PermissionProfile } from '../../../protocol/index.ts';
import { confinementOf, isNetworkOff, sandboxFor, withAdditional } from './permissions.ts';

const root = (access: 'read' | 'write'): PermissionEntry => ({
  path: { type: 'special', value: { kind: 'root' } },
  access,
});
const at = (path: string, access: 'read' | 'write' | 'deny'): PermissionEntry => ({
  path: { type: 'path', path: PathUri.parse(path) },
  access,
});
const managed = (entries: PermissionEntry[], network: 'enabled' | 'restricted' = 'enabled'): PermissionProfile => ({
  type: 'managed',
  file_system: { type: 'restricted', entries },
  network,
});
const network = networkRules();

describe('the sandbox of an environment', () => {
  it.each<[string, PermissionProfile | undefined, boolean]>([
    ['nothing is said', undefined, false],
    ['it is switched off', { type: 'disabled' }, false],
    ['everything may be written', managed([root('write')]), false],
    ['everything may be read', managed([root('read')]), true],
    ['one path may not be read', managed([root('write'), at('/secret', 'deny')]), true],
    ['one path may not be written', managed([root('write'), at('/etc', 'read')]), true],
    ['the network is off', managed([root('write')], 'restricted'), true],
  ])('where %s: is there one?', (_, permissions, expected) => {
    expect(sandboxFor({ ...(permissions && { permissions }) }, '/work') !== undefined).toBe(expected);
  });

  it('is there for the network alone where a proxy has to be passed', () => {
    expect(sandboxFor({ network }, '/work')?.permissions).toEqual({
      type: 'managed',
      file_system: { type: 'unrestricted' },
      network: 'enabled',
    });
  });

  it('takes the directory of the environment for the project, wherever a command runs', () => {
    const settings = { permissions: managed([root('read')]), cwd: '/work' };
    expect(sandboxFor(settings, '/work/sub')).toMatchObject({
      cwd: PathUri.parse('/work/sub'),
      workspaceRoots: [PathUri.parse('/work')],
    });
  });
});

describe('what confines a command', () => {
  it('is shown to the approver', () => {
    const permissions = managed([root('read'), at('/secret', 'deny')], 'restricted');
    expect(confinementOf({ permissions, network })).toEqual({
      restrictsFiles: true,
      hasDeniedReads: true,
      restrictsNetwork: true,
      managedNetwork: true,
      ownNetworkPolicy: false,
    });
  });

  it('grows by what was granted', () => {
    const settings = { permissions: managed([root('read')], 'restricted') };
    const granted = withAdditional(settings, {
      network: { enabled: true },
      file_system: { read: ['/r'], write: ['/w'] },
    });

    expect(granted.permissions).toEqual(managed([root('read'), at('/r', 'read'), at('/w', 'write')], 'enabled'));
    expect([isNetworkOff(settings), isNetworkOff(granted)]).toEqual([true, false]);
  });
});
