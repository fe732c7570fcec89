import { posix, win32 } from 'node:path';
import type { EnvironmentInfo } from '../../../protocol/index.ts';
import type { Orchestrator } from '../../approval/index.ts';
import type { ExecCommandArguments } from '../arguments/tool-arguments.ts';
import type { ExecBackend } from '../backends/exec-backend.ts';
import { ToolError } from '../report/tool-result.ts';
import type { Environments } from './environments.ts';
import type { EnvironmentSettings } from './permissions.ts';
import { type SandboxRequest, sandboxRequestOf } from './sandbox-request.ts';
import { localShell, remoteShell, type Shell, shellArgv } from './shell-command.ts';
import { trustedDirectories } from './trusted-path.ts';

/** The settings that plans of commands depend on. */
export interface CommandPlanOptions {
  readonly environments: Environments;
  readonly settings: Readonly<Record<string, EnvironmentSettings>>;
  readonly allowLoginShell: boolean;
  readonly additionalPermissions: boolean;
  readonly orchestrator: Orchestrator | undefined;
}

/** The environment of a call, and its settings. */
export interface SelectedEnvironment {
  readonly environmentId: string;
  readonly backend: ExecBackend;
  readonly info: EnvironmentInfo | undefined;
  /** Without the permissions that the call asks for on top: the user has not agreed to them yet. */
  readonly settings: EnvironmentSettings & { readonly cwd: string };
}

/** The plan of an `exec_command` call: argv, directory, environment and permissions. */
export interface CommandPlan extends SelectedEnvironment {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly tty: boolean;
  /** What the call asks of the sandbox, about which the user may be asked. */
  readonly sandboxRequest: SandboxRequest;
}

export async function planCommand(args: ExecCommandArguments, options: CommandPlanOptions): Promise<CommandPlan> {
  const environment = await selectEnvironment(args.environment_id, options);
  const { info, settings } = environment;
  checkArguments(args, info);
  const paths = info?.platformOs === 'windows' ? win32 : posix;
  const cwd = args.workdir ? paths.resolve(settings.cwd, args.workdir) : settings.cwd;
  const shell = chooseShell(environment, args.shell);
  const requestOptions = { ...options, variables: environment.backend.variables };
  const sandboxRequest = sandboxRequestOf(args, settings, requestOptions, (path) => paths.resolve(cwd, path));
  return {
    ...environment,
    argv: shellArgv(shell, args.cmd, wantsLogin(args.login, options.allowLoginShell)),
    cwd,
    tty: args.tty ?? false,
    sandboxRequest,
  };
}

/** Selects the environment of a call; connects if necessary. */
export async function selectEnvironment(
  asked: string | undefined,
  options: Pick<CommandPlanOptions, 'environments' | 'settings'>,
): Promise<SelectedEnvironment> {
  const environmentId = selectEnvironmentId(asked, options.environments);
  const backend = options.environments.select(environmentId);
  const info = await backend.info().catch(() => {
    throw new ToolError(NO_ENVIRONMENT); // the next call connects again
  });
  const settings = options.settings[environmentId] ?? {};
  const cwd = settings.cwd ?? String(info?.cwd?.toNative() ?? '/');
  return { environmentId, backend, info, settings: { ...settings, cwd } };
}

/** The id of the environment that a call asks for, or of the first one. */
export function selectEnvironmentId(asked: string | undefined, environments: Environments): string {
  const [first] = environments.ids;
  if (first === undefined) throw new ToolError(NO_ENVIRONMENT);
  if (asked !== undefined && !environments.ids.includes(asked)) {
    throw new ToolError(`unknown turn environment id \`${asked}\``);
  }
  return asked ?? first;
}

function chooseShell(
  { backend, info, environmentId, settings }: SelectedEnvironment,
  asked: string | undefined,
): Shell {
  const own = info?.shell ?? { name: 'sh', path: '/bin/sh' };
  // A shell that commands can replace would run commands that rules let out of the sandbox.
  const { variables = {} } = backend;
  if (backend.isLocal) return localShell(own, asked, () => trustedDirectories(variables, settings));
  const shell = remoteShell(own, asked);
  if (!shell) throw new ToolError(`environment \`${environmentId}\` only supports \`${own.name}\``);
  return shell;
}

/** Refuses arguments that are wrong on every machine and under every policy. */
function checkArguments(
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
