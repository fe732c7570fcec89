import { userInfo } from 'node:os';
import { ExecError, type Params, type PathUri, type ProcessIo, type Sandbox } from '../../protocol/index.ts';
import type { Command, NetworkNamespace } from '../os/index.ts';
import {
  type AccessPolicy,
  type Confined,
  confine,
  expandGlobsLater,
  nativePolicyPath,
  resolvePolicy,
  type SandboxHost,
  UnenforceablePolicy,
  workspaceRootsOf,
} from '../sandbox/index.ts';
import { accountVariables } from './account.ts';
import { childEnvironment } from './child-environment.ts';
import { explainSearch } from './program-search.ts';
import { rewritableIn } from './shell/snapshot-request.ts';
import { withNetwork } from './start-network.ts';
import { startUser } from './start-user.ts';

type StartParams = Params<'process/start'>;

export interface StartGates {
  readonly allowDirectExec: boolean;
  readonly allowPreparedExec: boolean;
  /** The users that a start may ask for. */
  readonly allowUsers: readonly string[];
}

/** A network made for one process. */
export interface ProcessNetwork extends AsyncDisposable {
  /** The variables by which the process finds it. */
  readonly environment: Readonly<Record<string, string>>;
}

/** The command to spawn for a request. The checks are in the reference's order, so that of several mistakes it names the same one. */
export function resolveStart(
  params: StartParams,
  ownEnvironment: Readonly<Record<string, string>>,
  gates: StartGates,
  network?: ProcessNetwork,
): Command {
  checkGate(params.mode === 'prepared' ? 'prepared' : 'direct', gates);
  const request = params.mode === 'prepared' ? params.request : params;
  const isSandboxed = params.sandbox != null;
  if (params.sandbox) {
    requireNativePaths(params.sandbox, request.cwd);
    checkArgv(request.argv);
  }
  const cwd = nativeCwd(request.cwd, isSandboxed);
  rewritableIn(params.shellSnapshot, request.argv);
  checkArgv(request.argv);
  if (params.networkProxy && !network) {
    throw new ExecError('invalidParams', 'sandbox intent cannot be enforced on this executor');
  }
  const io = resolveIo(params);
  const account = params.user == null ? undefined : startUser(params.user, params, gates.allowUsers);
  const policy = params.mode === 'prepared' ? undefined : params.envPolicy;
  const of = account && params.mode !== 'prepared' ? { ...accountVariables(account), ...policy?.set } : {};
  const env = childEnvironment(ownEnvironment, policy, { ...of, ...request.env, ...network?.environment });
  // A prepared request is spawned as it is.
  const needsShell = params.mode !== 'prepared' && io.type === 'pty' && env.SHELL === undefined;
  const command = {
    argv: request.argv,
    ...(request.arg0 != null && { arg0: request.arg0 }),
    cwd,
    ...(params.cwdIdentity != null && { cwdIdentity: params.cwdIdentity }),
    env: needsShell ? { ...env, SHELL: accountShell() } : env,
    io,
    ...(account && { restrictions: { user: account } }),
  };
  // With a sandbox the reference checks the program last, because it spawns the one that makes the sandbox.
  const checks = isSandboxed ? [checkSpawnable, checkProgram] : [checkProgram, checkSpawnable];
  for (const check of checks) check(command, isSandboxed);
  return command;
}

/** The command in the sandbox that its client asks for. */
export function confineStart(
  host: SandboxHost,
  command: Command,
  sandbox: Sandbox,
  params: StartParams,
  {
    network,
    ...options
  }: {
    readonly deniedMatches?: readonly string[] | undefined;
    readonly watch: boolean;
    readonly network?: ProcessNetwork | undefined;
    readonly sessionNetwork?: NetworkNamespace | undefined;
  },
): Confined {
  const isManaged = params.enforceManagedNetwork || (params.network != null && network !== undefined);
  const managedNetwork = isManaged ? proxyVariables(params, network) : undefined;
  return confine(host, command, withNetwork(policyOf(command, sandbox), params.network), {
    managedNetwork,
    ...options,
  });
}

/** Variables that name managed proxies: those of a network made for the process, else those that the client sends. */
function proxyVariables(params: StartParams, network: ProcessNetwork | undefined): Readonly<Record<string, string>> {
  if (network) return network.environment;
  if (params.mode === 'prepared') return params.request.env;
  return { ...params.envPolicy?.set, ...params.env };
}

/** The matches of the patterns of a sandbox; undefined for a pattern that cannot be enforced, which the start itself reports. */
export async function findDenied(command: Command, sandbox: Sandbox): Promise<readonly string[] | undefined> {
  const { deniedGlobs, globDepth } = policyOf(command, sandbox);
  try {
    return await expandGlobsLater(deniedGlobs, globDepth);
  } catch (error) {
    if (error instanceof UnenforceablePolicy) return undefined;
    throw error;
  }
}

function policyOf(command: Command, sandbox: Sandbox): AccessPolicy {
  const cwd = cwdOf(sandbox);
  return resolvePolicy(sandbox, {
    cwd: () => (cwd ? nativePath(cwd) : String(command.cwd)),
    tmpdir: command.env.TMPDIR,
    toNative: nativePath,
  });
}

const cwdOf = (sandbox: Sandbox): PathUri | null | undefined => sandbox.cwd ?? sandbox.policyContext?.cwd;

/** Every path that a sandbox names, and the directory of its command, must be a path of this host. */
function requireNativePaths(sandbox: Sandbox, commandCwd: PathUri): void {
  const { permissions } = sandbox;
  if (permissions.type === 'managed' && permissions.file_system.type === 'restricted') {
    for (const { path } of permissions.file_system.entries) if (path.type === 'path') nativePath(path.path);
  }
  requireNative('cwd', cwdOf(sandbox) ?? commandCwd);
  for (const root of workspaceRootsOf(sandbox)) requireNative('workspace root', root);
}

function requireNative(name: string, uri: PathUri): void {
  try {
    uri.toNative();
  } catch (error) {
    const reason = (error as Error).message;
    const text = `sandbox ${name} URI \`${uri}\` is not valid on this exec-server host: ${reason}`;
    throw new ExecError('invalidParams', text, { details: { subject: 'sandbox', path: uri.href } });
  }
}

const nativePath = (uri: PathUri): string => nativePolicyPath(uri, 'invalidParams');

/** The login shell of this user. In containers, a uid often has no account. */
function accountShell(): string {
  try {
    return userInfo().shell ?? '/bin/sh';
  } catch {
    return '/bin/sh'; // no such account
  }
}

function checkGate(mode: 'direct' | 'prepared', gates: StartGates): void {
  const setting = mode === 'prepared' ? 'allowPreparedExec' : 'allowDirectExec';
  if (gates[setting]) return;
  throw new ExecError('invalidRequest', `${mode} process/start is switched off on this server (setting ${setting})`);
}

/** `io`, or its equivalent by `tty` and `pipeStdin`. A request may contain both forms if they agree. */
function resolveIo({ io, tty, pipeStdin }: StartParams): ProcessIo {
  if (!io) return tty ? { type: 'pty', rows: 24, cols: 80 } : { type: 'pipe', stdin: pipeStdin ? 'open' : 'closed' };
  const contradicts =
    (tty !== undefined && tty !== (io.type === 'pty')) ||
    (io.type === 'pipe' && pipeStdin != null && pipeStdin !== (io.stdin === 'open'));
  if (contradicts)
    throw new ExecError('invalidParams', 'io contradicts tty or pipeStdin; send only one of the two forms');
  return io;
}

function checkProgram({ argv, io }: Command): void {
  if (argv[0] !== '') return;
  throw new ExecError('internal', `missing program for ${io.type === 'pty' ? 'PTY' : 'pipe'} spawn`);
}

/**
 * Refuses what the reference refuses before it spawns. For a terminal it searches for the program itself, unless there is a sandbox,
 * and never on a default PATH. Where it searches, even for the program that makes the sandbox, its error for a NUL in a variable is
 * the one for a NUL in an argument.
 */
function checkSpawnable(command: Command, isSandboxed: boolean): void {
  const { argv, arg0 = '', env, io } = command;
  const inArguments = [...argv, arg0].some(hasNul);
  const inVariables = Object.entries(env).some((pair) => pair.some(hasNul));
  const isTerminal = io.type === 'pty';
  const isAbsolute = argv[0]!.startsWith('/');
  const isSearched = isTerminal && !isSandboxed && !isAbsolute;
  if (!inArguments && !inVariables && !(isSearched && env.PATH === undefined)) return;
  const notFound = isSearched ? explainSearch(command) : undefined;
  if (notFound !== undefined) {
    const details = { errno: 'ENOENT', subject: 'program', searched: env.PATH ?? '' } as const;
    throw new ExecError('internal', notFound, { details });
  }
  const hasOneText = isTerminal && (isSandboxed || !isAbsolute);
  if (inArguments || (inVariables && hasOneText)) throw new ExecError('internal', 'nul byte found in provided data');
  if (inVariables) throw new ExecError('internal', 'data provided contains a nul byte');
}

const hasNul = (text: string): boolean => text.includes('\0');

function checkArgv(argv: readonly string[]): void {
  if (argv.length === 0) throw new ExecError('invalidParams', 'argv must not be empty');
}

function nativeCwd(cwd: PathUri, isSandboxed: boolean): string | Buffer {
  try {
    const path = cwd.toNative();
    return typeof path === 'string' ? path : Buffer.from(path);
  } catch (error) {
    const reason = (error as ExecError).message;
    const text = isSandboxed
      ? `failed to prepare process sandbox: command cwd URI \`${cwd}\` is not valid on this host: ${reason}`
      : `cwd URI \`${cwd}\` is not valid on this exec-server host: ${reason}`;
    throw new ExecError('invalidParams', text, { details: { subject: 'cwd', path: cwd.href } });
  }
}
