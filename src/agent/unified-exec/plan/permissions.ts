import type { NetworkProxyRules, PermissionEntry, PermissionProfile, Sandbox } from '../../../protocol/index.ts';
import type { AdditionalPermissions, Confinement } from '../../approval/index.ts';
import { pathUri } from './native-path.ts';

/** How commands run in one environment. */
export interface EnvironmentSettings {
  /** The directory of commands without `workdir`; by default the server's own. */
  readonly cwd?: string;
  /** The project directories of the permissions; by default `cwd`. */
  readonly workspaceRoots?: readonly string[];
  /** What commands may read, write and connect to; everything unless given. */
  readonly permissions?: PermissionProfile;
  /** Commands reach the network through a proxy with these rules only. */
  readonly network?: NetworkProxyRules;
  /** The environment has a network policy that no command may leave. */
  readonly ownNetworkPolicy?: boolean;
}

const unrestricted: PermissionProfile = { type: 'disabled' };

export function confinementOf({
  permissions = unrestricted,
  network,
  ownNetworkPolicy,
}: EnvironmentSettings): Confinement {
  const files = permissions.type === 'managed' ? permissions.file_system : undefined;
  const entries = files?.type === 'restricted' ? files.entries : [];
  return {
    restrictsFiles: files?.type === 'restricted' && !allowsEverything(entries),
    hasDeniedReads: entries.some(({ access }) => access === 'deny'),
    restrictsNetwork: permissions.type === 'managed' && permissions.network === 'restricted',
    managedNetwork: network !== undefined,
    ownNetworkPolicy: ownNetworkPolicy ?? false,
  };
}

/** Whether all files are writable, without an entry that restricts some. */
const allowsEverything = (entries: readonly PermissionEntry[]): boolean =>
  entries.some(isRootWrite) && entries.every(({ access }) => access === 'write');

const isRootWrite = ({ path, access }: PermissionEntry): boolean =>
  access === 'write' && path.type === 'special' && path.value.kind === 'root';

/** The settings with the additional permissions of one call. Paths are absolute. */
export function withAdditional(
  settings: EnvironmentSettings,
  granted: AdditionalPermissions | undefined,
): EnvironmentSettings {
  const { permissions } = settings;
  if (!granted || permissions?.type !== 'managed') return settings;
  const { file_system: files, network } = permissions;
  const entry = (access: 'read' | 'write') => (path: string) => ({
    path: { type: 'path' as const, path: pathUri(path) },
    access,
  });
  const { read = [], write = [] } = granted.file_system ?? {};
  const added = [...read.map(entry('read')), ...write.map(entry('write'))];
  return {
    ...settings,
    permissions: {
      ...permissions,
      file_system: files.type === 'restricted' ? { ...files, entries: [...files.entries, ...added] } : files,
      network: granted.network?.enabled ? 'enabled' : network,
    },
  };
}

export function isNetworkOff({ permissions }: EnvironmentSettings): boolean {
  return permissions !== undefined && permissions.type !== 'disabled' && permissions.network === 'restricted';
}

/** The sandbox for the server; undefined when nothing is restricted. */
export function sandboxFor(settings: EnvironmentSettings, cwd: string): Sandbox | undefined {
  const { network, workspaceRoots } = settings;
  const permissions = network ? withNetworkOnly(settings) : (settings.permissions ?? unrestricted);
  const { restrictsFiles } = confinementOf(settings);
  const restricts = restrictsFiles || network !== undefined || isNetworkOff(settings);
  if (permissions.type === 'disabled' || !restricts) return undefined;
  const roots = workspaceRoots ?? [settings.cwd ?? cwd];
  return {
    permissions,
    cwd: pathUri(cwd),
    workspaceRoots: roots.map((root) => pathUri(root)),
    windowsSandboxLevel: 'disabled',
    windowsSandboxProxySettingsMode: 'reconcile',
    useLegacyLandlock: false,
  };
}

/** A command must not get around its network proxy, so also one without restrictions of files gets a sandbox. */
function withNetworkOnly({ permissions }: EnvironmentSettings): PermissionProfile {
  if (permissions && permissions.type !== 'disabled') return permissions;
  return { type: 'managed', file_system: { type: 'unrestricted' }, network: 'enabled' };
}
