import { type Child, spawn } from '../os/index.ts';
import { ExecError, type PathUri, type Sandbox } from '../protocol/index.ts';
import { confine } from './confine.ts';
import { hasFullRead, needsCwd, type Policy, resolvePolicy } from './policy.ts';

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
  const helperEnv = Object.fromEntries(Object.entries(env).filter(([name]) => HELPER_VARIABLES.includes(name)));
  return {
    kind: 'helper',
    key: JSON.stringify(confined),
    launch: (program) => launchHelper(program, confined, helperEnv),
  };
}

/** Paths of requests are absolute, so that the helper needs no working directory of its own. */
function launchHelper(program: string, policy: Policy, env: Record<string, string>): Child {
  const readable: Policy = {
    ...policy,
    rules: [...policy.rules, { path: program, access: 'read', skipMissing: true }],
  };
  const { command, claim } = confine({ argv: [program], cwd: '/', env, io: { type: 'pipe', stdin: 'open' } }, readable);
  try {
    const child = spawn({ ...command, mark: 0n });
    void child.exited.then(() => claim[Symbol.dispose]());
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
