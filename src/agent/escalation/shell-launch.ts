import { dirname } from 'node:path';
import { Holdings } from '../../base/index.ts';
import { nativeFile } from '../../host/os/index.ts';
import { type Confined, confine, type Policy, resolvePolicy, type SandboxHost } from '../../host/sandbox/index.ts';
import { ExecError, type PathUri, type Sandbox } from '../../protocol/index.ts';
import type { ShellStart } from './broker-protocol.ts';

/** How the execs of a call come to be asked about. */
export type Interception = 'bash' | 'all';

/** The programs a call needs. */
export interface ShellPrograms {
  readonly intercept: Interception;
  /** Patched to start everything through the wrapper, where the kernel does not intercept. */
  readonly bash: string;
  readonly wrapper: string;
}

export interface LaunchOptions extends ShellPrograms {
  readonly sandboxes: SandboxHost;
  readonly command: string;
  readonly workdir: string;
  readonly login: boolean;
  /** Whether refusals of the sandbox are to be recorded. */
  readonly watch?: boolean;
  readonly policy: Policy;
  /** What the server goes by. */
  readonly ownFiles?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

export interface ShellLaunch {
  readonly confined: Confined;
  readonly start: ShellStart;
  /** The argument of the exec that tells when the text of the call begins. */
  readonly beginning: string | undefined;
  /** To be disposed when the shell has ended, or could not be started. */
  readonly claim: Disposable;
}

/** The number of the wrappers' socket in the shell: above all that is inherited, and below the usual limit of 256. */
export const SOCKET = 250;

const BEGINNING = '--exec-server-begins';

export function launchShell(options: LaunchOptions): ShellLaunch {
  const { sandboxes, intercept, bash, command, workdir, login, policy, watch = false } = options;
  const script = login ? `${beginningOf(bash)}${command}` : command;
  const io = { type: 'pipe', stdin: 'closed' } as const;
  const confined = confine(
    sandboxes,
    { argv: [bash, login ? '-lc' : '-c', script], cwd: workdir, env: shellEnvironment(options), io },
    withPrograms(policy, options),
    { watch, ...(intercept === 'bash' ? { kept: SOCKET } : { supervisor: SOCKET }) },
  );
  using holdings = new Holdings(); // there may be no descriptor for what is inherited
  holdings.hold(confined.claim);
  // A task has one listener: for execs and refusals together, or for execs alone.
  const watched = intercept === 'all' && confined.record !== undefined;
  const { argv, arg0, cwd, env, inherit = [] } = confined.command;
  return {
    confined,
    start: {
      intercept: watched ? 'watched' : intercept,
      ...((intercept === 'bash' || watched) && { socket: SOCKET }),
      shell: bash,
      file: argv[0]!,
      argv: [arg0 ?? argv[0]!, ...argv.slice(1)],
      cwd,
      env,
      inherited: inherit.length,
    },
    beginning: login ? BEGINNING : undefined,
    claim: holdings.move(),
  };
}

/** An exec that is refused and leaves no trace: what comes before it are the start-up files. */
function beginningOf(bash: string): string {
  return `'${bash.replaceAll("'", "'\\''")}' ${BEGINNING} 2>/dev/null || :; `;
}

function shellEnvironment(options: LaunchOptions): Record<string, string> {
  return {
    ...options.environment,
    ...(options.policy.network === 'restricted' && { CODEX_SANDBOX_NETWORK_DISABLED: '1' }),
    ...wrapperVariables(options),
  };
}

/** The variables that make a patched Bash ask, old and new names. */
export function wrapperVariables({ intercept, bash, wrapper }: ShellPrograms): Record<string, string> {
  if (intercept === 'all') return {};
  return {
    CODEX_ESCALATE_SOCKET: String(SOCKET),
    BASH_EXEC_WRAPPER: wrapper,
    EXEC_WRAPPER: wrapper,
    CODEX_ESCALATE_SHELL: bash,
  };
}

/** The files that the server executes and reads must be visible in the sandbox, and read-only. */
function withPrograms(policy: Policy, { bash, wrapper, intercept, ownFiles = [] }: LaunchOptions): Policy {
  if (policy.unrestricted) return policy;
  const programs = [bash, dirname(nativeFile('exec-broker')), ...(intercept === 'bash' ? [wrapper] : []), ...ownFiles];
  const rules = programs.map((path) => ({ path, access: 'read', skipMissing: true }) as const);
  return { ...policy, rules: [...policy.rules, ...rules] };
}

/** The policy of a sandbox for a call that runs in a directory. */
export function policyOf(sandbox: Sandbox, workdir: string, tmpdir: string | undefined): Policy {
  const cwd = sandbox.cwd ?? sandbox.policyContext?.cwd;
  return resolvePolicy(sandbox, { cwd: () => (cwd ? nativePath(cwd) : workdir), tmpdir, toNative: nativePath });
}

function nativePath(uri: PathUri): string {
  const path = uri.toNative();
  if (typeof path === 'string') return path;
  throw new ExecError('invalidParams', `${uri} in the sandbox state is no UTF-8`);
}
