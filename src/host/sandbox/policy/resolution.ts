import { statSync } from 'node:fs';
import { posix } from 'node:path';
import { ExecError, type PathUri, type PermissionEntry, type Sandbox } from '../../../protocol/index.ts';
import { globOf } from './glob.ts';

export type Access = 'read' | 'write' | 'deny';

/** One literal path of a policy. */
export interface AccessRule {
  readonly path: string;
  readonly access: Access;
  /** Whether the rule is left out when the path is missing. */
  readonly skipMissing: boolean;
}

/** A permission profile whose special paths are replaced by paths of this machine. */
export interface AccessPolicy {
  readonly network: 'restricted' | 'enabled';
  /** Whether every file may be read and written, as far as the operating system permits. */
  readonly unrestricted: boolean;
  readonly rules: readonly AccessRule[];
  /** Absolute patterns of denied paths. */
  readonly deniedGlobs: readonly string[];
  readonly globDepth: number | undefined;
  /** Whether the system's own programs and libraries are readable. */
  readonly minimal: boolean;
}

export interface PolicyContext {
  /** Gives the directory that relative patterns start from; called only for a relative pattern. */
  readonly cwd: (() => string) | undefined;
  /** TMPDIR of the command. */
  readonly tmpdir: string | undefined;
  /** Converts a path on the wire into one of this host, or throws. */
  readonly toNative: (uri: PathUri) => string;
  /** Whether a path leads to a directory; the disk is asked unless something else is given. */
  readonly isDirectory?: (path: string) => boolean;
}

const everything: AccessPolicy = {
  network: 'enabled',
  unrestricted: true,
  rules: [],
  deniedGlobs: [],
  globDepth: undefined,
  minimal: false,
};

export function resolvePolicy(sandbox: Sandbox, context: PolicyContext): AccessPolicy {
  const { permissions } = sandbox;
  if (permissions.type === 'disabled') return everything;
  if (permissions.type === 'external' || permissions.file_system.type === 'unrestricted') {
    return { ...everything, network: permissions.network };
  }
  const { entries, glob_scan_max_depth } = permissions.file_system;
  const roots = () => workspaceRootsOf(sandbox).map(context.toNative);
  const policy: AccessPolicy = {
    network: permissions.network,
    unrestricted: false,
    rules: strongest(entries.flatMap((entry) => rulesOf(entry, roots, context))),
    deniedGlobs: entries.flatMap((entry) => deniedGlobsOf(entry, roots, context)),
    globDepth: glob_scan_max_depth ?? undefined,
    minimal: entries.some(showsSystem),
  };
  return { ...policy, unrestricted: hasFullWrite(policy) };
}

/** Every path may be read. */
export function hasFullRead(policy: AccessPolicy): boolean {
  if (policy.unrestricted) return true;
  const denies = policy.deniedGlobs.length > 0 || policy.rules.some(({ access }) => access === 'deny');
  return !denies && policy.rules.some(({ path }) => path === '/');
}

function hasFullWrite({ rules, deniedGlobs }: AccessPolicy): boolean {
  const narrowed = deniedGlobs.length > 0 || rules.some(({ access }) => access !== 'write');
  return !narrowed && rules.some(({ path }) => path === '/');
}

/** Whether the meaning of a profile depends on a working directory. */
export function needsCwd({ permissions }: Sandbox): boolean {
  if (permissions.type !== 'managed' || permissions.file_system.type !== 'restricted') return false;
  return permissions.file_system.entries.some(({ path }) => {
    if (path.type === 'glob_pattern') return !path.pattern.startsWith('/');
    return path.type === 'special' && isProjectRoots(path.value.kind);
  });
}

export function workspaceRootsOf({ workspaceRoots, policyContext }: Sandbox): readonly PathUri[] {
  return workspaceRoots ?? policyContext?.workspaceRoots ?? [];
}

/** The access by the rule of the path, or of the nearest directory above it. */
export function accessOf(rules: ReadonlyMap<string, Access>, path: string): Access {
  for (let at = path; ; at = posix.dirname(at)) {
    const access = rules.get(at);
    if (access !== undefined) return access;
    if (at === '/') return 'deny';
  }
}

function rulesOf(entry: PermissionEntry, roots: () => readonly string[], context: PolicyContext): AccessRule[] {
  const { path, access, missing_path_behavior } = entry;
  const rule = (at: string): AccessRule => ({ path: clean(at), access, skipMissing: missing_path_behavior === 'skip' });
  if (path.type === 'glob_pattern') return [];
  if (path.type === 'path') return [rule(context.toNative(path.path))];
  const special = path.value;
  if (special.kind === 'root') return [rule('/')];
  if (special.kind === 'slash_tmp') return (context.isDirectory ?? isDirectory)('/tmp') ? [rule('/tmp')] : [];
  if (special.kind === 'tmpdir') return isTemporary(context.tmpdir) ? [rule(context.tmpdir)] : [];
  if (special.kind === 'project_roots' || special.kind === 'current_working_directory') {
    return roots().map((root) => rule(posix.join(root, special.subpath ?? '')));
  }
  return [];
}

/** A relative TMPDIR would make a directory of the command's choosing writable, and `/` the whole disk. */
function isTemporary(tmpdir: string | undefined): tmpdir is string {
  return tmpdir?.startsWith('/') === true && clean(tmpdir) !== '/';
}

const showsSystem = ({ path, access }: PermissionEntry): boolean =>
  path.type === 'special' && path.value.kind === 'minimal' && access !== 'deny';

const PROJECT_ROOTS = 'codex-project-roots://';

function deniedGlobsOf(
  { path, access }: PermissionEntry,
  roots: () => readonly string[],
  { cwd }: PolicyContext,
): readonly string[] {
  if (path.type !== 'glob_pattern' || access !== 'deny') return [];
  const { pattern } = path;
  if (pattern.startsWith(PROJECT_ROOTS)) {
    const below = pattern.slice(PROJECT_ROOTS.length).replace(/^\/+/, '');
    return roots().map((root) => `${globOf(root)}/${below}`);
  }
  if (pattern.startsWith('/')) return [pattern];
  if (cwd === undefined) throw new ExecError('invalidParams', `glob \`${pattern}\` is relative and there is no cwd`);
  return [`${globOf(cwd())}/${pattern}`];
}

const strength = { read: 0, write: 1, deny: 2 } as const;

/** One rule per path, the strongest. */
function strongest(rules: readonly AccessRule[]): readonly AccessRule[] {
  const chosen = new Map<string, AccessRule>();
  for (const rule of rules) {
    const other = chosen.get(rule.path);
    if (other === undefined || strength[rule.access] > strength[other.access]) chosen.set(rule.path, rule);
  }
  return [...chosen.values()];
}

const isProjectRoots = (kind: string): boolean => kind === 'project_roots' || kind === 'current_working_directory';

function clean(path: string): string {
  const normal = posix.normalize(path);
  return normal.length > 1 && normal.endsWith('/') ? normal.slice(0, -1) : normal;
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** The path of a sandbox as a path of this host. As in the reference, the error for a foreign path depends on the method. */
export function nativePolicyPath(uri: PathUri, kind: 'invalidParams' | 'invalidRequest'): string {
  const refuse = (reason: string): ExecError =>
    new ExecError(kind, `invalid sandbox permission path URI: ${reason}`, {
      details: { subject: 'sandbox', path: uri.href },
    });
  let path: string | Uint8Array;
  try {
    path = uri.toNative();
  } catch (error) {
    throw refuse((error as Error).message);
  }
  if (typeof path === 'string') return path;
  throw refuse(`${uri} is not valid UTF-8`);
}
