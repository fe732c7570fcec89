// Converts the sandboxes of clients of April and May 2026 to the present form.
import * as z from 'zod/mini';
import { ExecError } from './errors.ts';
import { decode, optional } from './schema.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** The sandbox in its present form; other values are left to the schema, which refuses them. */
export function fromOlderDialect(value: unknown): unknown {
  if (!isObject(value)) return value;
  const { sandboxPolicy, ...rest } = value;
  if (sandboxPolicy == null) return withWorkspaceRoots(value);
  if (rest.permissions != null) throw twoSandboxes('permissions');
  const roots = workspaceOf(rest);
  return { ...rest, workspaceRoots: roots, permissions: profileOf(sandboxPolicy, roots.length > 0) };
}

/** The parameters of a file call with its policy inside `sandbox`; in April it was a member of its own. */
export function withPolicyInSandbox(params: unknown): unknown {
  if (!isObject(params) || params.sandboxPolicy === undefined) return params;
  const { sandboxPolicy, ...rest } = params;
  if (sandboxPolicy === null) return rest;
  if (rest.sandbox != null) throw twoSandboxes('sandbox');
  return { ...rest, sandbox: { sandboxPolicy } };
}

const twoSandboxes = (other: string): ExecError =>
  new ExecError('invalidParams', `\`sandboxPolicy\` and \`${other}\` are two sandboxes: send one of them`);

/** In May the working directory was the workspace. Clients of May are recognised by their native paths. */
function withWorkspaceRoots(value: JsonObject): JsonObject {
  const { cwd, workspaceRoots, policyContext } = value;
  if (workspaceRoots !== undefined || policyContext != null) return value;
  return typeof cwd === 'string' && cwd.startsWith('/') ? { ...value, workspaceRoots: [cwd] } : value;
}

/** In April the working directory was the workspace too, as a native path or a URI. */
function workspaceOf({ cwd, workspaceRoots, policyContext }: JsonObject): readonly unknown[] {
  if (Array.isArray(workspaceRoots)) return workspaceRoots;
  if (isObject(policyContext) && Array.isArray(policyContext.workspaceRoots)) return policyContext.workspaceRoots;
  return cwd == null ? [] : [cwd];
}

const paths = optional(z.array(z.string()));
const flag = optional(z.boolean());
const network_access = optional(z.union([z.boolean(), z.enum(['restricted', 'enabled'])]));

/** Which files can be read: all of them, or those named and, unless it is switched off, the system's. */
const access = optional(
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('full-access') }),
    z.strictObject({ type: z.literal('restricted'), include_platform_defaults: flag, readable_roots: paths }),
  ]),
);

/** Refuses unknown members: in these dialects, which have ended, each may be a restriction. */
const olderPolicy = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('read-only'), access, network_access }),
  z.strictObject({
    type: z.literal('workspace-write'),
    writable_roots: paths,
    access,
    network_access,
    exclude_tmpdir_env_var: flag,
    exclude_slash_tmp: flag,
  }),
  z.strictObject({ type: z.literal('danger-full-access') }),
  z.strictObject({ type: z.literal('external-sandbox'), network_access }),
]);
type OlderPolicy = z.output<typeof olderPolicy>;
type OlderAccess = z.output<typeof access>;

function profileOf(written: unknown, hasWorkspace: boolean): unknown {
  const policy = decode(olderPolicy, inSnakeCase(written));
  if (policy.type === 'danger-full-access') return { type: 'disabled' };
  const open = policy.network_access === true || policy.network_access === 'enabled';
  const network = open ? 'enabled' : 'restricted';
  if (policy.type === 'external-sandbox') return { type: 'external', network };
  const workspace = (word: string) => (hasWorkspace ? [special('project_roots', word)] : []);
  const entries = [
    ...readableEntries(policy.access, workspace('read')),
    ...(policy.type === 'workspace-write' ? [...workspace('write'), ...writableEntries(policy)] : []),
  ];
  return { type: 'managed', file_system: { type: 'restricted', entries }, network };
}

function readableEntries(access: OlderAccess, workspace: readonly unknown[]): unknown[] {
  if (access?.type !== 'restricted') return [special('root', 'read')];
  const { include_platform_defaults, readable_roots } = access;
  const system = include_platform_defaults === false ? [] : [special('minimal', 'read')];
  return [...workspace, ...system, ...(readable_roots ?? []).map((path) => literal(path, 'read'))];
}

function writableEntries(policy: OlderPolicy & { type: 'workspace-write' }): unknown[] {
  return [
    ...(policy.writable_roots ?? []).map((path) => literal(path, 'write')),
    ...(policy.exclude_tmpdir_env_var ? [] : [special('tmpdir', 'write')]),
    ...(policy.exclude_slash_tmp ? [] : [special('slash_tmp', 'write')]),
  ];
}

/** Policies were written in kebab-case by one kind of client and in camelCase by another. */
function inSnakeCase(written: unknown): unknown {
  if (!isObject(written)) return written;
  const policy = renamed(written);
  const { access, read_only_access, readable_roots, include_platform_defaults, ...rest } = policy;
  if (access != null && read_only_access != null) throw new ExecError('invalidParams', 'duplicate field `access`');
  const given = read_only_access ?? access;
  // If the access is one word, its details are members beside it.
  const details = { readable_roots, include_platform_defaults };
  const beside = Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined));
  if (isObject(given)) return { ...rest, ...beside, access: renamed(given) };
  return { ...rest, ...(given == null ? beside : { access: { type: inKebabCase(given), ...beside } }) };
}

function renamed(written: JsonObject): JsonObject {
  const members = Object.entries(written).map(([name, value]) => [
    inKebabCase(name).replaceAll('-', '_'),
    name === 'type' ? inKebabCase(value) : value,
  ]);
  const policy = Object.fromEntries(members) as JsonObject;
  if (Object.keys(policy).length < members.length) {
    throw new ExecError('invalidParams', 'a field of the sandbox policy is written in two ways: send one of them');
  }
  return policy;
}

function inKebabCase<T>(word: T): T {
  return typeof word === 'string'
    ? (word.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`) as T & string)
    : word;
}

const literal = (path: string, access: string) => ({ path: { type: 'path', path }, access });
const special = (kind: string, access: string) => ({ path: { type: 'special', value: { kind } }, access });

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
