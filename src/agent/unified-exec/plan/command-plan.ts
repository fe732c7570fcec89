import { posix, win32 } from 'node:path';
import type { EnvironmentInfo } from '../../../protocol/index.ts';
import type { Orchestrator } from '../../approval/index.ts';
import type { ExecCommandArguments } from '../arguments/tool-arguments.ts';
import type { ExecBackend } from '../backends/exec-backend.ts';
import { ToolError } from '../report/tool-result.ts';
import type { Environments } from './environments.ts';
import type { EnvironmentSettings } from './permissions.ts';
import { type SandboxWishes, wishesOf } from './sandbox-wishes.ts';
import { localShell, remoteShell, type Shell, shellArgv } from './shell-command.ts';
import { trustedDirectories } from './trusted-path.ts';

/** What a host lets models do. */
export interface PlanOptions {
  readonly environments: Environments;
  readonly settings: Readonly<Record<string, EnvironmentSettings>>;
  readonly allowLoginShell: boolean;
  readonly additionalPermissions: boolean;
  readonly orchestrator: Orchestrator | undefined;
}

/** The environment of a call, and the terms there. */
export interface Place {
  readonly environmentId: string;
  readonly backend: ExecBackend;
  readonly info: EnvironmentInfo | undefined;
  /** Without the permissions that the call asks for on top: the user has not agreed to them yet. */
  readonly settings: EnvironmentSettings & { readonly cwd: string };
}

/** A call of `exec_command`, worked out: what to run, where, and under which rules. */
export interface CommandPlan extends Place {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly tty: boolean;
  /** What the user is asked about. */
  readonly wishes: SandboxWishes;
}

export async function planCommand(args: ExecCommandArguments, options: PlanOptions): Promise<CommandPlan> {
  const place = await selectPlace(args.environment_id, options);
  const { info, settings } = place;
  refuseStrangeWishes(args, info);
  const paths = info?.platformOs === 'windows' ? win32 : posix;
  const cwd = args.workdir ? paths.resolve(settings.cwd, args.workdir) : settings.cwd;
  const shell = chooseShell(place, args.shell);
  const wishes = wishesOf(args, settings, { ...options, variables: place.backend.variables }, (path) =>
    paths.resolve(cwd, path),
  );
  return {
    ...place,
    argv: shellArgv(shell, args.cmd, wantsLogin(args.login, options.allowLoginShell)),
    cwd,
    tty: args.tty ?? false,
    wishes,
  };
}

/** The place meant by a call; connects if necessary. */
export async function selectPlace(
  asked: string | undefined,
  options: Pick<PlanOptions, 'environments' | 'settings'>,
): Promise<Place> {
  const environmentId = selectEnvironment(asked, options.environments);
  const backend = options.environments.select(environmentId);
  const info = await backend.info().catch(() => {
    throw new ToolError(NO_ENVIRONMENT); // the next call tries to connect again
  });
  const settings = options.settings[environmentId] ?? {};
  const cwd = settings.cwd ?? String(info?.cwd?.toNative() ?? '/');
  return { environmentId, backend, info, settings: { ...settings, cwd } };
}

/** The id meant by a call. */
export function selectEnvironment(asked: string | undefined, environments: Environments): string {
  const [first] = environments.ids;
  if (first === undefined) throw new ToolError(NO_ENVIRONMENT);
  if (asked !== undefined && !environments.ids.includes(asked)) {
    throw new ToolError(`unknown turn environment id \`${asked}\``);
  }
  return asked ?? first;
}

function chooseShell({ backend, info, environmentId, settings }: Place, asked: string | undefined): Shell {
  const own = info?.shell ?? { name: 'sh', path: '/bin/sh' };
  // A shell that commands have put there would run what rules let out of the sandbox.
  const { variables = {} } = backend;
  if (backend.isLocal) return localShell(own, asked, () => trustedDirectories(variables, settings));
  const shell = remoteShell(own, asked);
  if (!shell) throw new ToolError(`environment \`${environmentId}\` only supports \`${own.name}\``);
  return shell;
}

/** Nonsense that has nothing to do with what the machine has or the policy allows. */
function refuseStrangeWishes(
  { workdir, justification, sandbox_permissions }: ExecCommandArguments,
  info: EnvironmentInfo | undefined,
): void {
  if (workdir?.includes('\0')) throw new ToolError(`'${workdir}' is invalid on '${info?.platformOs ?? 'linux'}'`);
  if (justification !== undefined && sandbox_permissions === undefined) throw new ToolError(UNEXPLAINED);
}

function wantsLogin(asked: boolean | undefined, allowed: boolean): boolean {
  if (asked && !allowed) throw new ToolError('login shell is disabled by config; omit `login` or set it to false.');
  return asked ?? allowed;
}

const UNEXPLAINED =
  '`justification` requires an explicit `sandbox_permissions`; use `sandbox_permissions: "require_escalated"` for unsandboxed execution, or omit `justification`.';

const NO_ENVIRONMENT =
  'No usable execution environment is available. Wait for an environment to become available before using this tool.';
