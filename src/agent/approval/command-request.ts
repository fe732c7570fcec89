/** The environment whose files are those of this process. */
export const LOCAL_ENVIRONMENT = 'local';

/** The sandbox that a call asks for. */
export type SandboxPermissions = 'use_default' | 'require_escalated' | 'with_additional_permissions';

/** The permissions that a call asks for on top of the profile, spelled as the tool's parameter. */
export interface AdditionalPermissions {
  readonly network?: { readonly enabled?: boolean };
  readonly file_system?: { readonly read?: readonly string[]; readonly write?: readonly string[] };
}

/** The confinement of a command with default permissions. */
export interface Confinement {
  readonly restrictsFiles: boolean;
  /** Paths that may not be read: they are hidden inside the sandbox alone, so nothing may run outside it. */
  readonly hasDeniedReads: boolean;
  /** The profile keeps commands off the network. */
  readonly restrictsNetwork?: boolean;
  readonly managedNetwork: boolean;
  /** The environment brings a network policy of its own, which an escalated command would escape. */
  readonly ownNetworkPolicy: boolean;
}

/** Whether there is anything for a sandbox to do. */
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
  /** The rule the caller would like to have for commands of this kind. */
  readonly prefixRule?: readonly string[];
  readonly confinement: Confinement;
  /** The home directory there, where that is known. */
  readonly home?: string;
  /** The variables of this program, where commands run on this machine. */
  readonly variables?: Readonly<Record<string, string | undefined>>;
  /** Whether other commands, in their sandboxes, could change what is at a path of this machine meanwhile; none unless given. */
  readonly isWritable?: (path: string) => boolean;
}
