import * as z from 'zod/mini';
import {
  decode,
  ExecError,
  PathUri,
  permissionProfile,
  refuseUnknownSandboxMembers,
  type Sandbox,
  sandbox,
} from '../../protocol/index.ts';
import { permissionsOf, type SandboxMode } from '../unified-exec/index.ts';

// Two ways of clients to say what commands may touch: a request that holds until the next one, and a member of `_meta`
// that holds for its call.

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

/** The sandbox that an update asks for, and the directory it is about. Throws when it cannot be understood. */
export function updateOf(params: unknown): { sandbox: Sandbox; cwd: string } {
  return understood(() => {
    refuseUnknownSandboxMembers(update, params);
    const { sandboxPolicy, sandboxCwd } = z.parse(update, params);
    const decoded = decode(sandbox, { sandboxPolicy, cwd: sandboxCwd, workspaceRoots: [sandboxCwd] });
    return { sandbox: withOwnWalls(decoded), cwd: sandboxCwd };
  });
}

/** The sandbox in the `_meta` of a call, if there is one. */
export function sandboxOfMeta(value: unknown): Sandbox | undefined {
  if (value === undefined || value === null) return undefined;
  return understood(() => {
    refuseUnknownSandboxMembers(meta, value);
    const { permissionProfile, sandboxCwd } = z.decode(meta, value as z.input<typeof meta>);
    return sandboxAt(permissionProfile, PathUri.parse(sandboxCwd));
  });
}

/** What holds when the client has said nothing. */
export function defaultSandbox(mode: SandboxMode, workdir: string): Sandbox {
  return sandboxAt(permissionsOf(mode), PathUri.fromNative(workdir));
}

function sandboxAt(permissions: Sandbox['permissions'], cwd: PathUri): Sandbox {
  return withOwnWalls({ permissions, windowsSandboxLevel: 'disabled', cwd, workspaceRoots: [cwd] });
}

/** The sandbox of another program cannot be verified from here, so commands run in a read-only one. */
function withOwnWalls(given: Sandbox): Sandbox {
  return given.permissions.type === 'external' ? { ...given, permissions: permissionsOf('read-only') } : given;
}

function understood<T>(read: () => T): T {
  try {
    return read();
  } catch {
    throw new ExecError('invalidParams', 'failed to deserialize sandbox state');
  }
}
