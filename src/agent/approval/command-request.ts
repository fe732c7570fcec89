/** The id of the environment that is this machine. */
export const LOCAL_ENVIRONMENT = 'local';

/** What a call asks of the sandbox. */
export type SandboxPermissions = 'use_default' | 'require_escalated' | 'with_additional_permissions';

/** The permissions that a call asks for on top of the profile, spelled as the tool's parameter. */
export interface AdditionalPermissions {
  readonly network?: { readonly enabled?: boolean };
  readonly file_system?: { readonly read?: readonly string[]; readonly write?: readonly string[] };
}

/** What confines a command with default permissions. */
export interface Confinement {
  readonly restrictsFiles: boolean;
  /** Some paths may not be read. Only the sandbox hides them, so nothing may run outside it. */
  readonly hasDeniedReads: boolean;
  /** The profile keeps commands off the network. */
  readonly restrictsNetwork?: boolean;
  readonly managedNetwork: boolean;
  /** The environment has a network policy of its own, which a command outside the sandbox would escape. */
  readonly ownNetworkPolicy: boolean;
}

/** Whether anything confines the command. */
export function isConfined({ restrictsFiles, hasDeniedReads, restrictsNetwork, managedNetwork }: Confinement): boolean {
  return restrictsFiles || hasDeniedReads || restrictsNetwork === true || managedNetwork;
}

/** Whether a command may leave the sandbox if the user agrees. */
export function mayLeaveSandbox({ hasDeniedReads, ownNetworkPolicy }: Confinement): boolean {
  return !hasDeniedReads && !ownNetworkPolicy;
}

/** A command to be judged. */
export interface CommandRequest {
  readonly callId: string;
  readonly turnId?: string;
  readonly environmentId: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly tty: boolean;
  readonly sandboxPermissions: SandboxPermissions;
  readonly additionalPermissions?: AdditionalPermissions;
  readonly justification?: string;
  /** The rule that the model proposes for commands of this kind. */
  readonly prefixRule?: readonly string[];
  readonly confinement: Confinement;
  /** The home directory of the user in the environment; undefined where it is unknown. */
  readonly home?: string;
  /** The variables of this program; undefined for another machine. */
  readonly variables?: Readonly<Record<string, string | undefined>>;
  /** Whether sandboxed commands could change what is at a path of this machine; they can change nothing unless given. */
  readonly isWritable?: (path: string) => boolean;
}
