import { describe, expect, it } from 'vitest';
import { sandbox } from './sandbox.ts';
import { decode, encode } from './schema.ts';

const wire = (value: unknown) => JSON.parse(JSON.stringify(encode(sandbox, decode(sandbox, value))));
const special = (kind: string, access: string) => ({ path: { type: 'special', value: { kind } }, access });

describe('sandboxes of older clients', () => {
  it.each([
    [{ type: 'read-only' }, 'restricted', [special('root', 'read')]],
    [{ type: 'read-only', network_access: true }, 'enabled', [special('root', 'read')]],
    [
      { type: 'workspace-write', writable_roots: ['/extra'], exclude_tmpdir_env_var: true },
      'restricted',
      [
        special('root', 'read'),
        special('project_roots', 'write'),
        { path: { type: 'path', path: 'file:///extra' }, access: 'write' },
        special('slash_tmp', 'write'),
      ],
    ],
  ])('of April 2026 are profiles now: %j', (sandboxPolicy, network, entries) => {
    expect(wire({ sandboxPolicy, cwd: 'file:///w' }).permissions).toEqual({
      type: 'managed',
      file_system: { type: 'restricted', entries },
      network,
    });
  });

  it('may restrict nothing, or rely on an external sandbox', () => {
    expect(wire({ sandboxPolicy: { type: 'danger-full-access' } }).permissions).toEqual({ type: 'disabled' });
    expect(wire({ sandboxPolicy: { type: 'external-sandbox', network_access: 'enabled' } }).permissions).toEqual({
      type: 'external',
      network: 'enabled',
    });
  });

  it('are refused by their tag when it is unknown', () => {
    expect(() => decode(sandbox, { sandboxPolicy: { type: 'x' } })).toThrow(/unknown variant `x`/);
    expect(() => decode(sandbox, {})).toThrow('missing field `permissions`');
  });

  it('of May 2026, recognised by native paths, have their working directory as the workspace', () => {
    const permissions = { type: 'disabled' };
    expect(wire({ permissions, cwd: '/w' }).workspaceRoots).toEqual(['file:///w']);
    expect(wire({ permissions, cwd: '/w', workspaceRoots: [] }).workspaceRoots).toEqual([]);
    expect(wire({ permissions, cwd: 'file:///w' }).workspaceRoots).toBeUndefined();
  });

  it('may write `none` for `deny`', () => {
    const file_system = { type: 'restricted', entries: [special('root', 'none')] };
    const { permissions } = wire({ permissions: { type: 'managed', file_system, network: 'restricted' } });
    expect(permissions.file_system.entries).toEqual([special('root', 'deny')]);
  });
});
