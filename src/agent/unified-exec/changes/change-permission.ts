import { realpathSync } from 'node:fs';
import { posix } from 'node:path';
import { type ExecutorFileSystem, PathUri, type PermissionEntry } from '../../../protocol/index.ts';
import { blockedRefusal, type ChangeRequest, changedPaths, type Orchestrator, Rejected } from '../../approval/index.ts';
import type { PlannedChange, WriteAccess } from '../../patch/index.ts';
import type { CallContext } from '../call-context.ts';
import type { SelectedEnvironment } from '../plan/command-plan.ts';
import { type EnvironmentSettings, sandboxFor, withAdditional } from '../plan/permissions.ts';

/** A call that changes files. */
export interface ChangeCall extends SelectedEnvironment {
  /** The name of the tool in rules and questions. */
  readonly tool: 'apply_patch' | 'write_file';
  readonly cwd: string;
  readonly justification?: string | undefined;
}

/**
 * Asks policy and user about changes, and tells how to write the files: in the usual sandbox, or for paths beyond it with the
 * access that the user has permitted. Throws `Rejected` or `Cancelled`.
 */
export async function permitChanges(
  changes: readonly PlannedChange[],
  call: ChangeCall,
  orchestrator: Orchestrator | undefined,
  { callId = crypto.randomUUID(), turnId, signal }: CallContext,
): Promise<WriteAccess> {
  const { environmentId, backend, settings, cwd, tool, justification } = call;
  const tmpdir = backend.variables?.TMPDIR;
  const outside = changedPaths(changes).filter((path) => !mayWrite(settings, path, tmpdir));
  const obstacle = obstacleOf(settings);
  if (!orchestrator && outside.length > 0) throw new Rejected('policy', blockedRefusal(obstacle));
  const request: ChangeRequest = {
    callId,
    ...(turnId !== undefined && { turnId }),
    environmentId,
    tool,
    changes,
    outside,
    obstacle,
    ...(justification !== undefined && { justification }),
  };
  await orchestrator?.approveChanges(request, signal ? { signal } : {});
  const usual = { sandbox: sandboxFor(settings, cwd) };
  if (outside.length === 0) return () => usual;
  const permitted = await accessTo(outside, call);
  const beyond = new Set(outside);
  // The wider access holds for the permitted paths alone: another path may be a link that leads there.
  return (path) => (beyond.has(path) ? permitted(path) : usual);
}

/**
 * Access to files beyond the sandbox: their directories are made writable. Some names, as `.git`, stay protected in a writable
 * directory, and the sandbox cannot let one be created; such files are written without a sandbox, and not through links. In a
 * read-only sandbox they stay refused, as the reference refuses them.
 */
async function accessTo(paths: readonly string[], { backend, settings, cwd }: ChangeCall): Promise<WriteAccess> {
  const files = await backend.fileSystem();
  const directories = await Promise.all(paths.map((path) => nearestDirectory(posix.dirname(path), files)));
  const granted = withAdditional(settings, { file_system: { write: [...new Set(directories)] } });
  const widened = { sandbox: sandboxFor(granted, cwd) };
  if (isReadOnly(settings)) return () => widened;
  return (path) => (mayWrite(granted, path) ? widened : { followSymlinks: false });
}

/** The nearest existing directory: a sandbox can make only existing paths writable. */
async function nearestDirectory(path: string, files: ExecutorFileSystem): Promise<string> {
  if (path === '/') return path;
  const isThere = await files.getMetadata(PathUri.fromNative(path)).then(
    () => true,
    () => false, // missing or not accessible: an entry above it is
  );
  return isThere ? path : nearestDirectory(posix.dirname(path), files);
}

/** Whether commands on this machine could write at a path, or at the path that its links lead to. */
export function couldWrite(settings: EnvironmentSettings, path: string, tmpdir: string | undefined): boolean {
  return mayWrite(settings, path, tmpdir) || mayWrite(settings, realPath(path), tmpdir, realPath);
}

/** The path without links, as far as it exists. */
function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    // nothing is there yet
    const above = posix.dirname(path);
    return above === path ? path : posix.join(realPath(above), posix.basename(path));
  }
}

/** Whether the profile lets a path be written, by its name. The sandbox itself decides about links. */
export function mayWrite(
  settings: EnvironmentSettings,
  path: string,
  tmpdir?: string,
  resolve = (root: string): string => root,
): boolean {
  const entries = restrictions(settings);
  if (!entries) return true;
  let nearest = { root: '', access: 'deny' };
  for (const { path: at, access } of entries) {
    for (const root of rootsOf(at, settings, tmpdir).map(resolve)) {
      if (isBelow(path, root) && root.length >= nearest.root.length) nearest = { root, access };
    }
  }
  const [, name = ''] = posix.relative(nearest.root, path).match(/^([^/]+)/) ?? [];
  return nearest.access === 'write' && !PROTECTED_NAMES.includes(name);
}

/** Names that are not writable in a writable directory unless granted by path. */
const PROTECTED_NAMES = ['.git', '.agents', '.codex', '.aws'];

function restrictions({ permissions }: EnvironmentSettings): readonly PermissionEntry[] | undefined {
  const files = permissions?.type === 'managed' ? permissions.file_system : undefined;
  return files?.type === 'restricted' ? files.entries : undefined;
}

/** The directories that a path of a profile stands for. */
function rootsOf(
  path: PermissionEntry['path'],
  { cwd, workspaceRoots }: EnvironmentSettings,
  tmpdir: string | undefined,
): readonly string[] {
  if (path.type === 'path') return [String(path.path.toNative())];
  if (path.type !== 'special') return [];
  const special = path.value;
  if (special.kind === 'root') return ['/'];
  if (special.kind === 'slash_tmp') return ['/tmp'];
  if (special.kind === 'tmpdir') return tmpdir?.startsWith('/') && posix.resolve(tmpdir) !== '/' ? [tmpdir] : [];
  if (special.kind !== 'project_roots' && special.kind !== 'current_working_directory') return [];
  const roots = workspaceRoots ?? (cwd === undefined ? [] : [cwd]);
  return roots.map((root) => posix.join(root, special.subpath ?? ''));
}

const isBelow = (path: string, root: string): boolean =>
  path === root || path.startsWith(root.endsWith('/') ? root : `${root}/`);

const isReadOnly = (settings: EnvironmentSettings): boolean =>
  restrictions(settings)?.every(({ access }) => access !== 'write') ?? false;

function obstacleOf(settings: EnvironmentSettings): string {
  return isReadOnly(settings) ? 'writing is blocked by read-only sandbox' : 'writing outside of the project';
}
