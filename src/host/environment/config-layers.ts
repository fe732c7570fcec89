import { dirname, join } from 'node:path';
import { systemFolder } from './codex-home.ts';
import { type ConfigLayer, configError, loadToml } from './config-file.ts';
import { projectLayers } from './project-layers.ts';
import { mergeTables, type TomlTable } from './toml.ts';

export interface ConfigFolders {
  readonly codexHome: string;
  /** The administrator's folder; `/etc/codex` unless given. */
  readonly systemFolder?: string;
}

/** Layers, lowest precedence first, and how many of them are below those that a cloud service may add. */
export interface LayerStack {
  readonly layers: readonly ConfigLayer[];
  readonly belowCloud: number;
}

/** All configuration on this machine for a client that works in a directory. */
export async function loadLayers(
  cwd: string,
  folders: ConfigFolders,
): Promise<{ config: LayerStack; requirements: LayerStack }> {
  const folder = folders.systemFolder ?? systemFolder;
  const system = await layer('system', join(folder, 'config.toml'));
  const user = await layer('user', join(folders.codexHome, 'config.toml'));
  const managed = await layer('legacy managed_config.toml', join(folder, 'managed_config.toml'));
  const settings = [system, user, managed].reduce<TomlTable>((below, { toml }) => mergeTables(below, toml), {});
  const projects = await projectLayers(cwd, settings, folders.codexHome);
  return {
    config: { layers: [system, user, ...projects, managed], belowCloud: 1 },
    requirements: await loadRequirements(join(folder, 'requirements.toml'), managed),
  };
}

async function layer(kind: string, path: string): Promise<ConfigLayer> {
  return { source: `${kind} (${path})`, baseDir: dirname(path), toml: (await loadToml(path)) ?? {} };
}

async function loadRequirements(path: string, managed: ConfigLayer): Promise<LayerStack> {
  const baseDir = dirname(path);
  const parsed = await loadToml(
    path,
    (position, reason) => `failed to parse requirements layer ${path}: ${position}: ${reason}`,
  );
  const legacy = { source: join(managed.baseDir, 'managed_config.toml'), baseDir, toml: asRequirements(managed.toml) };
  return parsed
    ? { layers: [{ source: path, baseDir, toml: parsed }, legacy], belowCloud: 1 }
    : { layers: [legacy], belowCloud: 0 };
}

const approvalPolicies = ['untrusted', 'on-failure', 'on-request', 'granular', 'never'];
const approvalReviewers = ['user', 'auto_review', 'guardian_subagent'];
const sandboxModes = ['read-only', 'workspace-write', 'danger-full-access'];

/** The settings that a managed configuration fixes, as lists of allowed values. */
function asRequirements(managed: TomlTable): TomlTable {
  const policy = managed.approval_policy;
  const reviewer = variant(managed, 'approvals_reviewer', approvalReviewers);
  const mode = variant(managed, 'sandbox_mode', sandboxModes);
  if (typeof policy !== 'object') variant(managed, 'approval_policy', approvalPolicies);
  return {
    ...(policy !== undefined && { allowed_approval_policies: [policy] }),
    // With an automatic reviewer a user may always be asked; and no mode works without reading.
    ...(reviewer && { allowed_approvals_reviewers: reviewer === 'user' ? ['user'] : ['auto_review', 'user'] }),
    ...(mode && { allowed_sandbox_modes: [...new Set(['read-only', mode])] }),
  };
}

function variant(table: TomlTable, key: string, known: readonly string[]): string | undefined {
  const value = table[key];
  if (value === undefined) return undefined;
  if (typeof value === 'string' && known.includes(value)) return value;
  const expected = known.map((name) => `\`${name}\``).join(', ');
  throw configError(
    `Failed to parse config requirements as TOML: unknown variant \`${value}\`, expected one of ${expected}\nin \`${key}\`\n`,
  );
}
