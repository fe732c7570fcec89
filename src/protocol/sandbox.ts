import * as z from 'zod/mini';
import { fromOlderDialect } from './sandbox-dialects.ts';
import { refuseUnknownSandboxMembers } from './sandbox-members.ts';
import { decode, optional, pathUri, refusing } from './schema.ts';

const network = z.enum(['restricted', 'enabled']);

/** `none` is an older word for `deny`. */
const access = z.codec(z.enum(['read', 'write', 'deny', 'none']), z.enum(['read', 'write', 'deny']), {
  decode: (word) => (word === 'none' ? 'deny' : word),
  encode: (word) => word,
});

/** `current_working_directory` is an older word for `project_roots`. */
const special = z.discriminatedUnion('kind', [
  z.object({ kind: z.enum(['root', 'minimal']) }),
  z.object({ kind: z.enum(['current_working_directory', 'project_roots']), subpath: optional(z.string()) }),
  z.object({ kind: z.enum(['tmpdir', 'slash_tmp']) }),
  z.object({ kind: z.literal('unknown'), path: z.string(), subpath: optional(z.string()) }),
]);

const entry = z.object({
  path: z.discriminatedUnion('type', [
    z.object({ type: z.literal('path'), path: pathUri }),
    z.object({ type: z.literal('glob_pattern'), pattern: z.string() }),
    z.object({ type: z.literal('special'), value: special }),
  ]),
  access,
  missing_path_behavior: optional(z.enum(['skip'])),
});
export type PermissionEntry = z.output<typeof entry>;

const depth = z.number().check(
  z.refine((value) => Number.isInteger(value) && value >= 1, {
    error: ({ input }) =>
      `${Number.isInteger(input) ? `invalid value: integer \`${input}\`` : 'invalid type: number'}, expected a nonzero usize`,
  }),
);

const fileSystem = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('restricted'),
    entries: z.array(entry),
    glob_scan_max_depth: optional(depth),
  }),
  z.object({ type: z.literal('unrestricted') }),
]);

/** The files and the network that a command may use. */
export const permissionProfile = z.discriminatedUnion('type', [
  z.object({ type: z.literal('managed'), file_system: fileSystem, network }),
  z.object({ type: z.literal('disabled') }),
  z.object({ type: z.literal('external'), network }),
]);
export type PermissionProfile = z.output<typeof permissionProfile>;

/** What a sandbox is on the wire today. */
export const sandboxMembers = z.object({
  permissions: permissionProfile,
  windowsSandboxLevel: z._default(z.enum(['disabled', 'restricted-token', 'elevated', 'mxc']), 'disabled'),
  cwd: optional(pathUri),
  workspaceRoots: z.optional(z.array(pathUri)),
  sandboxOverride: z.optional(z.enum(['noOverride', 'escalatedSandboxWithRestrictions', 'bypassSandboxFirstAttempt'])),
  userHomeDir: optional(pathUri),
  temporaryDirectories: optional(z.array(pathUri)),
  windowsSandboxProxySettingsMode: optional(z.enum(['reconcile', 'preserve'])),
  useLegacyLandlock: z.optional(z.boolean()),
  policyContext: optional(z.object({ cwd: pathUri, workspaceRoots: z.array(pathUri) })),
});

export type Sandbox = z.output<typeof sandboxMembers>;

/**
 * A permission profile, and the directories that its special paths stand for. Equal ones are the same object as long as they are
 * kept, and frozen, so that a change by one owner cannot widen the sandbox of later requests.
 */
export const sandbox = z.codec(z.unknown(), z.custom<Sandbox>(), {
  decode: (value, context) => refusing(context.issues, value, () => decodeOnce(value)),
  encode: (value) => z.encode(sandboxMembers, value),
});

/** By its text, the one used last at the end. A client sends the same sandbox with many calls, and decoding it takes most of a call's time. */
const decoded = new Map<string, Sandbox>();

function decodeOnce(value: unknown): Sandbox {
  const text = textOf(value);
  const known = decoded.get(text) ?? decodeSandbox(value);
  decoded.delete(text);
  if (text.length <= LONGEST_KEPT) decoded.set(text, known);
  if (decoded.size > MOST_KEPT) decoded.delete(decoded.keys().next().value!);
  return known;
}

function decodeSandbox(value: unknown): Sandbox {
  const sent = fromOlderDialect(value);
  refuseUnknownSandboxMembers(sandboxMembers, sent);
  return frozen(decode(sandboxMembers, sent));
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null)
    for (const member of Object.values(Object.freeze(value))) frozen(member);
  return value;
}

/** Different for values that are decoded differently: JSON writes `null` for a number beyond the range of JavaScript's as well. */
function textOf(value: unknown): string {
  const text = JSON.stringify(value);
  return text?.includes('null')
    ? JSON.stringify(value, (_, member) => (isEndless(member) ? String(member) : member))
    : text;
}

const isEndless = (value: unknown): boolean => typeof value === 'number' && !Number.isFinite(value);

/** A client has a handful of sandboxes, each of a few hundred bytes. */
const MOST_KEPT = 32;
const LONGEST_KEPT = 16 * 1024;
