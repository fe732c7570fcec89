import { dirname } from 'node:path';
import { SyncScope } from '../../base/index.ts';
import { nativeFile } from '../../host/os/index.ts';
import {
  type AccessPolicy,
  type Confined,
  confine,
  resolvePolicy,
  type SandboxHost,
} from '../../host/sandbox/index.ts';
import { ExecError, type PathUri, type Sandbox } from '../../protocol/index.ts';
import type { ShellStart } from './broker-protocol.ts';

/** Who reports the execs of a call: a patched Bash its own, or the kernel all. */
export type Interception = 'bash' | 'all';

/** The programs a call needs. */
export interface ShellPrograms {
  readonly intercept: Interception;
  /** With `intercept: 'bash'` a patched one, which starts every program through the wrapper. */
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
  readonly policy: AccessPolicy;
  /** The files that the server reads its rules from. */
  readonly ownFiles?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

export interface ShellLaunch {
  readonly confined: Confined;
  readonly start: ShellStart;
  /** The first argument of an exec that follows the start-up files of a login shell. */
  readonly startMarker: string | undefined;
  /** To be disposed when the shell has ended, or could not be started. */
  readonly claim: Disposable;
}

/** The descriptor of the wrappers' socket in the shell: above all inherited ones, and below the usual limit of 256. */
export const WRAPPER_SOCKET = 250;

const START_MARKER = '--exec-server-begins';

export function launchShell(options: LaunchOptions): ShellLaunch {
  const { sandboxes, intercept, bash, command, workdir, login, policy, watch = false } = options;
  const script = login ? `${markStart(bash)}${command}` : command;
  const io = { type: 'pipe', stdin: 'closed' } as const;
  const confined = confine(
    sandboxes,
    { argv: [bash, login ? '-lc' : '-c', script], cwd: workdir, env: shellEnvironment(options), io },
    withPrograms(policy, options),
    { watch, ...(intercept === 'bash' ? { extraDescriptor: WRAPPER_SOCKET } : { supervisor: WRAPPER_SOCKET }) },
  );
  using scope = new SyncScope(); // opening what the shell inherits may fail
  scope.own(confined.claim);
  // A task can have one seccomp listener, which then reports execs and refused calls.
  const watched = intercept === 'all' && confined.record !== undefined;
  const { argv, arg0, cwd, env, inherit = [] } = confined.command;
  return {
    confined,
    start: {
      intercept: watched ? 'watched' : intercept,
      ...((intercept === 'bash' || watched) && { socket: WRAPPER_SOCKET }),
      shell: bash,
      file: argv[0]!,
      argv: [arg0 ?? argv[0]!, ...argv.slice(1)],
      cwd,
      env,
      inherited: inherit.length,
    },
    startMarker: login ? START_MARKER : undefined,
    claim: scope.move(),
  };
}

/** A command whose exec is denied without output: execs before it are those of the start-up files. */
function markStart(bash: string): string {
  return `'${bash.replaceAll("'", "'\\''")}' ${START_MARKER} 2>/dev/null || :; `;
}

function shellEnvironment(options: LaunchOptions): Record<string, string> {
  return {
    ...options.environment,
    ...(options.policy.network === 'restricted' && { CODEX_SANDBOX_NETWORK_DISABLED: '1' }),
    ...wrapperVariables(options),
  };
}

/** The variables that make a patched Bash ask before an exec, by their old and new names. */
export function wrapperVariables({ intercept, bash, wrapper }: ShellPrograms): Record<string, string> {
  if (intercept === 'all') return {};
  return {
    CODEX_ESCALATE_SOCKET: String(WRAPPER_SOCKET),
    BASH_EXEC_WRAPPER: wrapper,
    EXEC_WRAPPER: wrapper,
    CODEX_ESCALATE_SHELL: bash,
  };
}

/** The files that the server executes and reads must be visible in the sandbox, and read-only. */
function withPrograms(policy: AccessPolicy, { bash, wrapper, intercept, ownFiles = [] }: LaunchOptions): AccessPolicy {
  if (policy.unrestricted) return policy;
  const programs = [bash, dirname(nativeFile('exec-broker')), ...(intercept === 'bash' ? [wrapper] : []), ...ownFiles];
  const rules = programs.map((path) => ({ path, access: 'read', skipMissing: true }) as const);
  return { ...policy, rules: [...policy.rules, ...rules] };
}

/** The policy of a sandbox for a call that runs in a directory. */
export function policyOf(sandbox: Sandbox, workdir: string, tmpdir: string | undefined): AccessPolicy {
  const cwd = sandbox.cwd ?? sandbox.policyContext?.cwd;
  return resolvePolicy(sandbox, { cwd: () => (cwd ? nativePath(cwd) : workdir), tmpdir, toNative: nativePath });
}

function nativePath(uri: PathUri): string {
  const path = uri.toNative();
  if (typeof path === 'string') return path;
  throw new ExecError('invalidParams', `${uri} in the sandbox state is no UTF-8`);
}
