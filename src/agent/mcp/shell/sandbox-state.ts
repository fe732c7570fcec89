import * as z from 'zod/mini';
import {
  decode,
  ExecError,
  PathUri,
  permissionProfile,
  refuseUnknownSandboxMembers,
  type Sandbox,
  sandbox,
} from '../../../protocol/index.ts';
import { permissionsOf, type SandboxMode } from '../../unified-exec/index.ts';

// Clients set the sandbox in two ways: by a request, which holds until the next one, and in the `_meta` of a call, for that call.

export const STATE_REQUEST = 'codex/sandbox-state/update';
export const STATE_CAPABILITY = 'codex/sandbox-state';
export const STATE_META = 'codex/sandbox-state-meta';

const flag = z.optional(z.boolean());

const update = z.object({
  sandboxPolicy: z.record(z.string(), z.unknown()),
  sandboxCwd: z.string().check(z.startsWith('/')),
  codexLinuxSandboxExe: z.nullish(z.string()),
  useLinuxSandboxBwrap: flag,
});

const meta = z.object({
  permissionProfile,
  sandboxCwd: z.string(),
  codexLinuxSandboxExe: z.nullish(z.string()),
  useLegacyLandlock: flag,
});

/** A sandbox, and the directory that its paths are relative to. */
export interface StateUpdate {
  readonly sandbox: Sandbox;
  readonly cwd: string;
}

/** Parses a request that sets the sandbox; throws when it is malformed. */
export function stateUpdate(params: unknown): StateUpdate {
  return parsed(() => {
    refuseUnknownSandboxMembers(update, params);
    const { sandboxPolicy, sandboxCwd } = z.parse(update, params);
    const decoded = decode(sandbox, { sandboxPolicy, cwd: sandboxCwd, workspaceRoots: [sandboxCwd] });
    return { sandbox: withOwnSandbox(decoded), cwd: sandboxCwd };
  });
}

/** Parses the sandbox in the `_meta` of a call; undefined without one. */
export function sandboxInMeta(value: unknown): Sandbox | undefined {
  if (value === undefined || value === null) return undefined;
  return parsed(() => {
    refuseUnknownSandboxMembers(meta, value);
    const { permissionProfile, sandboxCwd } = z.decode(meta, value as z.input<typeof meta>);
    return sandboxAt(permissionProfile, PathUri.parse(sandboxCwd));
  });
}

/** The sandbox of a client that has set none. */
export function defaultSandbox(mode: SandboxMode, workdir: string): Sandbox {
  return sandboxAt(permissionsOf(mode), PathUri.fromNative(workdir));
}

function sandboxAt(permissions: Sandbox['permissions'], cwd: PathUri): Sandbox {
  return withOwnSandbox({ permissions, windowsSandboxLevel: 'disabled', cwd, workspaceRoots: [cwd] });
}

/** Whether another program confines this one cannot be verified, so commands run in a read-only sandbox. */
function withOwnSandbox(given: Sandbox): Sandbox {
  return given.permissions.type === 'external' ? { ...given, permissions: permissionsOf('read-only') } : given;
}

function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch {
    // the reference says no more
    throw new ExecError('invalidParams', 'failed to deserialize sandbox state');
  }
}
