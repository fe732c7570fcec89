import { ExecError, type PathUri, type Sandbox } from '../../../protocol/index.ts';
import { secretPaths } from '../../own/index.ts';
import { type HelperView, planHelper } from '../launch/helper-launchers.ts';
import { UnenforceablePolicy } from '../unenforceable-policy.ts';
import { DiskFacts, type RecordedFacts } from '../view/disk-facts.ts';
import {
  type AccessPolicy,
  hasFullRead,
  nativePolicyPath,
  needsCwd,
  resolvePolicy,
  workspaceRootsOf,
} from './resolution.ts';

/** How a file call under a sandbox is executed. */
export type FilePolicy =
  | { readonly kind: 'direct' }
  /** Directly, except for paths that resolve into procfs, where the server would show itself. */
  | { readonly kind: 'directButNotProcfs' }
  /** By a helper in a sandbox with this view; calls with equal keys may share a helper. */
  | ({ readonly kind: 'view' } & KeyedView);

export interface KeyedView {
  readonly key: string;
  /** For a helper that is started at once: the view is out of date when the disk changes. */
  readonly view: HelperView;
}

export interface FilePolicyOptions {
  readonly mode: 'read' | 'write';
  /** The paths of the call. */
  readonly paths: readonly PathUri[];
  /** The environment the server was started with. */
  readonly env: Readonly<Record<string, string>>;
}

interface Resolution {
  readonly env: FilePolicyOptions['env'];
  readonly secrets: readonly string[];
  readonly policy: FilePolicy;
  /** The answers of the disk that the policy was made from; undefined for a policy that is never used again. */
  readonly facts: RecordedFacts | undefined;
}

/** A client sends the same sandbox with many calls, and it is the same object then. */
const resolutions = { read: new WeakMap<Sandbox, Resolution>(), write: new WeakMap<Sandbox, Resolution>() };

/** The policy as the disk is now: an earlier resolution is used again as long as the disk gives the same answers. */
export function resolveFilePolicy(sandbox: Sandbox, options: FilePolicyOptions): FilePolicy {
  const { mode, env, paths } = options;
  const { paths: secrets } = secretPaths;
  const kept = resolutions[mode].get(sandbox);
  const isCurrent = kept?.env === env && kept.secrets === secrets && kept.facts?.holds();
  if (isCurrent) return kept.policy;
  const resolution = resolve(sandbox, options);
  if (resolution.policy.kind === 'view') requireNativePaths(sandbox, paths);
  resolutions[mode].set(sandbox, resolution);
  return resolution.policy;
}

function resolve(sandbox: Sandbox, { mode, env }: FilePolicyOptions): Resolution {
  const facts = new DiskFacts();
  const resolved = accessPolicyOf(sandbox, env, facts);
  const policy = filePolicyOf(resolved, mode, facts);
  const repeatable = resolved.deniedGlobs.length === 0; // patterns have to be searched for again every time
  return { env, secrets: secretPaths.paths, policy, facts: repeatable ? facts.record() : undefined };
}

/** Refuses a profile that depends on a working directory, if its sandbox names none. */
export function requireCwd(sandbox: Sandbox): void {
  if (sandbox.cwd ?? sandbox.policyContext?.cwd) return;
  if (!needsCwd(sandbox)) return;
  throw new ExecError('invalidParams', 'file system sandbox context with dynamic permissions requires cwd');
}

export function accessPolicyOf(sandbox: Sandbox, env: FilePolicyOptions['env'], facts: DiskFacts): AccessPolicy {
  requireCwd(sandbox);
  const cwd = sandbox.cwd ?? sandbox.policyContext?.cwd;
  const roots = workspaceRootsOf(sandbox);
  const native = roots.every(isNative) ? sandbox : { ...sandbox, workspaceRoots: roots.filter(isNative) };
  return resolvePolicy(native, {
    cwd: cwd ? () => nativePolicyPath(cwd, 'invalidRequest') : undefined,
    tmpdir: env.TMPDIR,
    toNative: (uri) => nativePolicyPath(uri, 'invalidRequest'),
    isDirectory: (path) => facts.isDirectory(path),
  });
}

function filePolicyOf(policy: AccessPolicy, mode: FilePolicyOptions['mode'], facts: DiskFacts): FilePolicy {
  if (policy.unrestricted) return { kind: 'direct' };
  if (mode === 'read' && hasFullRead(policy)) return { kind: 'directButNotProcfs' };
  const confined: AccessPolicy = { ...policy, network: 'restricted', minimal: policy.minimal || !hasFullRead(policy) };
  const view = planHelper(confined, facts);
  return { kind: 'view', key: JSON.stringify([confined, identityOf(view, facts)]), view };
}

/**
 * Changes when a mounted path is replaced or a path to be protected appears, so that a helper started before is not used: its mounts
 * stay with the files that they were made on, and a replaced denied file would be readable.
 */
function identityOf(view: HelperView, facts: DiskFacts): readonly unknown[] {
  if (view instanceof UnenforceablePolicy) return [view.message];
  const { args, refused, mounts } = view;
  const identity = (path: string): string | undefined => facts.entryAt(path)?.identity;
  return [
    refused,
    args.map((arg, at) => (isBind(args[at - 1]) ? [arg, identity(arg)] : arg)),
    mounts.map(({ path }) => identity(path)),
  ];
}

const isBind = (option: string | undefined): boolean => /^--(ro-)?bind(-try)?$/.test(option ?? '');

/** The directories that a sandbox names must be paths of this host. The reference names a foreign path of the call first. */
function requireNativePaths(sandbox: Sandbox, paths: readonly PathUri[]): void {
  for (const path of paths) path.toNative();
  (sandbox.cwd ?? sandbox.policyContext?.cwd)?.toNative();
  try {
    for (const root of workspaceRootsOf(sandbox)) root.toNative();
  } catch (error) {
    const reason = (error as Error).message;
    const text = `file system sandbox workspace root is not native to this exec-server host: ${reason}`;
    throw new ExecError('invalidRequest', text);
  }
}

function isNative(uri: PathUri): boolean {
  try {
    uri.toNative();
    return true;
  } catch {
    return false; // a path of another host
  }
}
