import type { PermissionEntry, PermissionProfile } from '../../../protocol/index.ts';

export const sandboxModes = ['read-only', 'workspace-write', 'danger-full-access'] as const;
export type SandboxMode = (typeof sandboxModes)[number];

const special = (
  kind: 'root' | 'project_roots' | 'slash_tmp' | 'tmpdir',
  access: 'read' | 'write',
): PermissionEntry => ({
  path: { type: 'special', value: { kind } as never },
  access,
});

const entries: Readonly<Record<Exclude<SandboxMode, 'danger-full-access'>, PermissionEntry[]>> = {
  'read-only': [special('root', 'read')],
  'workspace-write': [
    special('root', 'read'),
    special('project_roots', 'write'),
    special('slash_tmp', 'write'),
    special('tmpdir', 'write'),
  ],
};

/** The permission profile of a sandbox mode. */
export function permissionsOf(mode: SandboxMode): PermissionProfile {
  if (mode === 'danger-full-access') return { type: 'disabled' };
  return {
    type: 'managed',
    file_system: { type: 'restricted', entries: entries[mode] },
    network: 'restricted',
  };
}
