import {
  type AdditionalPermissions,
  type CommandRequest,
  escalationRefusal,
  type Orchestrator,
  type SandboxPermissions,
} from '../../approval/index.ts';
import type { ExecCommandArguments } from '../arguments/tool-arguments.ts';
import { couldWrite } from '../changes/change-permission.ts';
import { ToolError } from '../report/tool-result.ts';
import { confinementOf, type EnvironmentSettings } from './permissions.ts';

/** What a call asks of the sandbox, and what rules and questions need to know about it. */
export type SandboxRequest = Pick<
  CommandRequest,
  | 'sandboxPermissions'
  | 'additionalPermissions'
  | 'justification'
  | 'prefixRule'
  | 'confinement'
  | 'variables'
  | 'isWritable'
>;

interface SandboxRequestOptions {
  readonly additionalPermissions: boolean;
  readonly orchestrator: Orchestrator | undefined;
  /** The variables of this program; undefined for another machine. */
  readonly variables: CommandRequest['variables'] | undefined;
}

/** Reads the arguments of a call; throws the text for the model when they ask for permissions that cannot be granted. */
export function sandboxRequestOf(
  args: ExecCommandArguments,
  settings: EnvironmentSettings,
  options: SandboxRequestOptions,
  absolute: (path: string) => string,
): SandboxRequest {
  const { justification, prefix_rule: prefixRule } = args;
  if (wantsMore(args)) refuse(options.orchestrator ? options.orchestrator.escalationRefusal : WITHOUT_ORCHESTRATOR);
  const additionalPermissions = additionalOf(args, options, absolute);
  const sandboxPermissions: SandboxPermissions = additionalPermissions
    ? 'with_additional_permissions'
    : (args.sandbox_permissions ?? 'use_default');
  return {
    sandboxPermissions,
    ...(additionalPermissions && { additionalPermissions }),
    ...(justification !== undefined && { justification }),
    ...(prefixRule && { prefixRule }),
    confinement: confinementOf(settings),
    ...(options.variables && { variables: options.variables }),
    isWritable: (path) => couldWrite(settings, path, options.variables?.TMPDIR),
  };
}

const WITHOUT_ORCHESTRATOR = escalationRefusal('never');

const wantsMore = ({ sandbox_permissions, additional_permissions }: ExecCommandArguments): boolean =>
  (sandbox_permissions ?? 'use_default') !== 'use_default' || additional_permissions !== undefined;

function refuse(text: string | undefined): void {
  if (text !== undefined) throw new ToolError(text);
}

function additionalOf(
  { sandbox_permissions, additional_permissions }: ExecCommandArguments,
  { additionalPermissions: allowed, orchestrator }: SandboxRequestOptions,
  absolute: (path: string) => string,
): AdditionalPermissions | undefined {
  const wanted = sandbox_permissions === 'with_additional_permissions';
  if (!wanted && !additional_permissions) return undefined;
  if (!allowed) refuse(DISABLED);
  if (sandbox_permissions === 'require_escalated') refuse(CONTRADICTION);
  refuse(orchestrator?.additionalRefusal);
  if (!additional_permissions) throw new ToolError(MISSING);
  const { network, file_system: { read = [], write = [] } = {} } = additional_permissions;
  if (network?.enabled === undefined && read.length + write.length === 0) refuse(NOTHING);
  const files = {
    ...(read.length > 0 && { read: read.map(absolute) }),
    ...(write.length > 0 && { write: write.map(absolute) }),
  };
  return {
    ...(network?.enabled !== undefined && { network: { enabled: network.enabled } }),
    ...(read.length + write.length > 0 && { file_system: files }),
  };
}

const DISABLED =
  'additional permissions are disabled; enable `features.exec_permission_approvals` before using `with_additional_permissions`';
const CONTRADICTION = '`additional_permissions` requires `sandbox_permissions` set to `with_additional_permissions`';
const MISSING =
  'missing `additional_permissions`; provide at least one of `network` or `file_system` when using `with_additional_permissions`';
const NOTHING = '`additional_permissions` must include at least one requested permission in `network` or `file_system`';
