// What clients of April and May 2026 sent as a sandbox, rewritten into the words of today.

type Json = Readonly<Record<string, unknown>>;

/** The sandbox as it is sent today; a value that is none is left for the schema to refuse. */
export function fromOlderDialect(value: unknown): unknown {
  if (!isObject(value)) return value;
  if (isObject(value.sandboxPolicy) && value.permissions === undefined) {
    const { sandboxPolicy, ...rest } = value;
    return { ...rest, permissions: profileOf(sandboxPolicy) };
  }
  return withWorkspaceRoots(value);
}

/** In May the working directory was the workspace. Its paths were native, which tells those clients from later ones. */
function withWorkspaceRoots(value: Json): Json {
  const { cwd, workspaceRoots, policyContext } = value;
  if (workspaceRoots !== undefined || policyContext != null) return value;
  return typeof cwd === 'string' && cwd.startsWith('/') ? { ...value, workspaceRoots: [cwd] } : value;
}

function profileOf(policy: Json): unknown {
  const network = policy.network_access === true || policy.network_access === 'enabled' ? 'enabled' : 'restricted';
  switch (policy.type) {
    case 'read-only':
      return managed([special('root', 'read')], network);
    case 'workspace-write':
      return managed(workspaceEntries(policy), network);
    case 'danger-full-access':
      return { type: 'disabled' };
    case 'external-sandbox':
      return { type: 'external', network };
    default:
      return policy; // an unknown tag: the schema names the known ones
  }
}

function workspaceEntries(policy: Json): unknown[] {
  const roots = Array.isArray(policy.writable_roots) ? policy.writable_roots : [];
  return [
    special('root', 'read'),
    special('project_roots', 'write'),
    ...roots.map((path: unknown) => ({ path: { type: 'path', path }, access: 'write' })),
    ...(policy.exclude_tmpdir_env_var === true ? [] : [special('tmpdir', 'write')]),
    ...(policy.exclude_slash_tmp === true ? [] : [special('slash_tmp', 'write')]),
  ];
}

const managed = (entries: readonly unknown[], network: string) => ({
  type: 'managed',
  file_system: { type: 'restricted', entries },
  network,
});

const special = (kind: string, access: string) => ({ path: { type: 'special', value: { kind } }, access });

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
