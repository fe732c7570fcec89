import { posix } from 'node:path';
import { type CommandRequest, type Orchestrator, Rejected } from '../approval/index.ts';
import { type ExecutorFileSystem, PathUri, type PermissionEntry, type Sandbox } from '../protocol/index.ts';
import type { CallContext } from './call-context.ts';
import type { CommandPlan } from './command-plan.ts';
import { type EnvironmentSettings, sandboxFor, withAdditional } from './permissions.ts';

export interface WantedPatch {
  readonly text: string;
  /** What it writes and removes, absolute. */
  readonly paths: readonly string[];
  readonly plan: CommandPlan;
}

/**
 * The sandbox to write a patch in: the usual one, and if that is not enough and the user agrees, the directories of the
 * files on top. Throws `Rejected` or `Cancelled`.
 */
export async function permitPatch(
  { text, paths, plan }: WantedPatch,
  orchestrator: Orchestrator | undefined,
  { callId = crypto.randomUUID(), turnId, signal }: CallContext,
): Promise<Sandbox | undefined> {
  const { settings, cwd, environmentId, wishes } = plan;
  const outside = paths.filter((path) => !mayWrite(settings, path));
  const fits = outside.length === 0;
  if (!fits && (!orchestrator || orchestrator.escalationRefusal !== undefined)) {
    throw new Rejected('policy', `${obstacle(settings)}; rejected by user approval settings`);
  }
  const request: CommandRequest = {
    callId,
    ...(turnId !== undefined && { turnId }),
    environmentId,
    argv: ['apply_patch', text],
    cwd,
    tty: false,
    sandboxPermissions: fits ? 'use_default' : 'require_escalated',
    ...(wishes.justification !== undefined && { justification: wishes.justification }),
    confinement: { ...wishes.confinement, ownNetworkPolicy: false }, // files are no way around it
  };
  await orchestrator?.permit(request, signal ? { signal } : {});
  if (fits) return sandboxFor(settings, cwd);
  const files = await plan.backend.fileSystem();
  const directories = await Promise.all(outside.map((path) => nearestDirectory(posix.dirname(path), files)));
  return sandboxFor(withAdditional(settings, { file_system: { write: [...new Set(directories)] } }), cwd);
}

/** What is to be made in a sandbox has to be made in something that is there. */
async function nearestDirectory(path: string, files: ExecutorFileSystem): Promise<string> {
  if (path === '/') return path;
  const isThere = await files.getMetadata(PathUri.fromNative(path)).then(
    () => true,
    () => false,
  );
  return isThere ? path : nearestDirectory(posix.dirname(path), files);
}

/** What the profile says about a path by its name. The sandbox decides in the end, whatever links there are. */
export function mayWrite(settings: EnvironmentSettings, path: string): boolean {
  const entries = restrictions(settings);
  if (!entries) return true;
  let nearest = { root: '', access: 'deny' };
  for (const { path: at, access } of entries) {
    for (const root of rootsOf(at, settings)) {
      if (isBelow(path, root) && root.length >= nearest.root.length) nearest = { root, access };
    }
  }
  const [, name = ''] = posix.relative(nearest.root, path).match(/^([^/]+)/) ?? [];
  return nearest.access === 'write' && !PROTECTED_NAMES.includes(name);
}

/** Not writable in a writable directory unless granted by name. */
const PROTECTED_NAMES = ['.git', '.agents', '.codex', '.aws'];

function restrictions({ permissions }: EnvironmentSettings): readonly PermissionEntry[] | undefined {
  const files = permissions?.type === 'managed' ? permissions.file_system : undefined;
  return files?.type === 'restricted' ? files.entries : undefined;
}

/** Where a path of a profile leads. The temporary directory is taken to be that of this machine. */
function rootsOf(path: PermissionEntry['path'], { cwd, workspaceRoots }: EnvironmentSettings): readonly string[] {
  if (path.type === 'path') return [String(path.path.toNative())];
  if (path.type !== 'special') return [];
  const special = path.value;
  if (special.kind === 'root') return ['/'];
  if (special.kind === 'slash_tmp') return ['/tmp'];
  if (special.kind === 'tmpdir') return process.env.TMPDIR ? [process.env.TMPDIR] : [];
  if (special.kind !== 'project_roots' && special.kind !== 'current_working_directory') return [];
  const roots = workspaceRoots ?? (cwd === undefined ? [] : [cwd]);
  return roots.map((root) => posix.join(root, special.subpath ?? ''));
}

const isBelow = (path: string, root: string): boolean =>
  path === root || path.startsWith(root.endsWith('/') ? root : `${root}/`);

function obstacle(settings: EnvironmentSettings): string {
  const isReadOnly = restrictions(settings)?.every(({ access }) => access !== 'write');
  return isReadOnly ? 'writing is blocked by read-only sandbox' : 'writing outside of the project';
}
