import * as z from 'zod/mini';
import { fromOlderDialect } from './sandbox-dialects.ts';
import { refuseUnknownSandboxMembers } from './sandbox-members.ts';
import { optional, pathUri, refusing } from './schema.ts';

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

const current = z.object({
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

/** A permission profile and the directories its words refer to. */
export const sandbox = z.codec(z.unknown(), current, {
  decode: (value, context) =>
    refusing(context.issues, value, () => {
      const sent = fromOlderDialect(value) as z.input<typeof current>;
      refuseUnknownSandboxMembers(current, sent);
      return sent;
    }),
  encode: (value) => value,
});
export type Sandbox = z.output<typeof sandbox>;
