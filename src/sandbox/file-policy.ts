import { type Child, familyMark, killFamily, PROCESS_MASK, spawn } from '../os/index.ts';
import { ExecError, type PathUri, type Sandbox } from '../protocol/index.ts';
import { confine } from './confine.ts';
import { look } from './disk.ts';
import { expandGlobs } from './glob-scan.ts';
import { planMounts } from './mount-plan.ts';
import { hasFullRead, needsCwd, type Policy, resolvePolicy } from './policy.ts';
import { Refusal } from './refusal.ts';

/** How a filesystem call under a sandbox is carried out. */
export type FilePolicy =
  | { readonly kind: 'direct' }
  /** Directly, except for what resolves into procfs: there the server would show itself. */
  | { readonly kind: 'guardedRead' }
  /** By a helper inside the sandbox; calls with equal keys may share one. */
  | { readonly kind: 'helper'; readonly key: string; launch(program: string): Child };

export interface FilePolicyOptions {
  readonly mode: 'read' | 'write';
  /** The environment the server was started with. */
  readonly env: Readonly<Record<string, string>>;
}

/** All that a helper is told of the server's environment. */
const HELPER_VARIABLES = ['PATH', 'TMPDIR', 'TMP', 'TEMP'];

export function resolveFilePolicy(sandbox: Sandbox, { mode, env }: FilePolicyOptions): FilePolicy {
  const cwd = sandbox.cwd ?? sandbox.policyContext?.cwd;
  if (!cwd && needsCwd(sandbox)) {
    throw new ExecError('invalidParams', 'file system sandbox context with dynamic permissions requires cwd');
  }
  const policy = resolvePolicy(sandbox, {
    cwd: cwd ? () => nativePath(cwd) : undefined,
    tmpdir: env.TMPDIR,
    toNative: nativePath,
  });
  if (policy.unrestricted) return { kind: 'direct' };
  if (mode === 'read' && hasFullRead(policy)) return { kind: 'guardedRead' };
  const confined: Policy = { ...policy, network: 'restricted', minimal: policy.minimal || !hasFullRead(policy) };
  return {
    kind: 'helper',
    key: JSON.stringify([confined, viewOf(confined)]),
    launch: (program) => launchHelper(program, confined, helperEnvironment(env)),
  };
}

function helperEnvironment(env: FilePolicyOptions['env']): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => HELPER_VARIABLES.includes(name)));
}

/**
 * The view a helper would be given now. One that was started before a directory was replaced, or before something to be
 * protected appeared, has another.
 */
function viewOf(policy: Policy): readonly unknown[] {
  try {
    const { args } = planMounts(policy, expandGlobs(policy.deniedGlobs, policy.globDepth), 0);
    return args.map((arg, at) => (isBind(args[at - 1]) ? [arg, identityOf(arg)] : arg));
  } catch (error) {
    if (error instanceof Refusal) return [error.message];
    throw error;
  }
}

const isBind = (option: string | undefined): boolean => /^--(ro-)?bind(-try)?$/.test(option ?? '');

/** Tells a directory from one that has taken its place. */
function identityOf(path: string): string | undefined {
  const found = look(path);
  return found && `${found.dev}:${found.ino}:${found.birthtimeMs}`; // numbers are used again, soon
}

/** The number of a session that no session has: helpers belong to the server. */
const HELPERS = -1;
let launches = 0;

/** Paths of requests are absolute, so that the helper needs no working directory of its own. */
function launchHelper(program: string, policy: Policy, env: Record<string, string>): Child {
  const readable: Policy = {
    ...policy,
    rules: [...policy.rules, { path: program, access: 'read', skipMissing: true }],
  };
  const { command, claim } = confine({ argv: [program], cwd: '/', env, io: { type: 'pipe', stdin: 'open' } }, readable);
  const mark = familyMark(process.pid, HELPERS, launches++);
  try {
    const child = spawn({ ...command, mark });
    void child.exited.then(async (status) => {
      // A launcher that is killed while it builds the sandbox does not take its child with it.
      if ('signal' in status) await killFamily(mark, PROCESS_MASK);
      claim[Symbol.dispose]();
    });
    return child;
  } catch (error) {
    claim[Symbol.dispose]();
    throw error;
  }
}

function nativePath(uri: PathUri): string {
  try {
    const path = uri.toNative();
    if (typeof path === 'string') return path;
  } catch (error) {
    throw new ExecError('invalidRequest', `invalid sandbox permission path URI: ${(error as Error).message}`);
  }
  throw new ExecError('invalidRequest', `invalid sandbox permission path URI: ${uri} is no UTF-8`);
}
