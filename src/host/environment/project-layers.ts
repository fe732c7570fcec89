import { join, relative } from 'node:path';
import { type ConfigLayer, configError, loadToml } from './config-file.ts';
import { type Checkout, findCheckout, isGitEntry } from './git-checkout.ts';
import { ancestors, exists, isDirectory, resolveLinks } from './native-paths.ts';
import { isTable, type TomlTable } from './toml.ts';

/**
 * Settings that a repository may not change: they decide where credentials are sent,
 * which programs run unasked, and which other settings apply.
 */
const forUsersOnly = [
  'openai_base_url',
  'chatgpt_base_url',
  'apps_mcp_product_sku',
  'responses_api_metadata',
  'model_provider',
  'model_providers',
  'notify',
  'profile',
  'profiles',
  'experimental_realtime_webrtc_call_base_url',
  'experimental_realtime_ws_base_url',
  'otel',
];

/** The layers of the `.codex` folders from the root of the project down to the directory, as far as the user trusts them. */
export async function projectLayers(cwd: string, settings: TomlTable, codexHome: string): Promise<ConfigLayer[]> {
  const trust = trustLevels(settings);
  const root = await projectRoot(cwd, rootMarkers(settings));
  const checkout = await findCheckout(cwd);
  const ownHome = await resolveLinks(codexHome);
  const folders = ancestors(cwd).filter((folder) => folder.startsWith(root));
  const layers: ConfigLayer[] = [];
  for (const folder of folders.reverse()) {
    const dotCodex = join(folder, '.codex');
    if (!(await isDirectory(dotCodex)) || (await resolveLinks(dotCodex)) === ownHome) continue;
    if (!(await isTrusted(trust, [folder, root, checkout?.repository]))) continue;
    layers.push(...(await folderLayers(folder, dotCodex, checkout)));
  }
  return layers;
}

async function folderLayers(folder: string, dotCodex: string, checkout: Checkout | undefined): Promise<ConfigLayer[]> {
  const own = permitted(await loadProjectToml(dotCodex));
  if (!checkout || checkout.root === checkout.repository) return [projectLayer(dotCodex, own)];
  // A linked worktree has the hooks of the checkout that owns its repository.
  const { hooks: _, ...ownWithoutHooks } = own;
  const main = join(checkout.repository, relative(checkout.root, folder), '.codex');
  const { hooks } = await loadProjectToml(main);
  const borrowed = hooks === undefined ? [] : [projectLayer(main, { hooks })];
  return [projectLayer(dotCodex, ownWithoutHooks), ...borrowed];
}

function projectLayer(dotCodex: string, toml: TomlTable): ConfigLayer {
  return { source: `project (${join(dotCodex, 'config.toml')})`, baseDir: dotCodex, toml };
}

async function loadProjectToml(dotCodex: string): Promise<TomlTable> {
  const path = join(dotCodex, 'config.toml');
  const describe = (position: string, reason: string) =>
    `Error parsing project config file ${path}: ${position}: ${reason}`;
  return (await loadToml(path, describe)) ?? {};
}

function permitted(toml: TomlTable): TomlTable {
  const kept = Object.fromEntries(Object.entries(toml).filter(([key]) => !forUsersOnly.includes(key)));
  if (!isTable(kept.features)) return kept;
  const { respect_system_proxy: _, ...features } = kept.features;
  return { ...kept, features };
}

function rootMarkers({ project_root_markers: markers = ['.git'] }: TomlTable): string[] {
  if (Array.isArray(markers) && markers.every((marker) => typeof marker === 'string')) return markers;
  throw configError('project_root_markers must be an array of strings');
}

/** The nearest directory that contains a marker; the directory itself if there is none. */
async function projectRoot(cwd: string, markers: readonly string[]): Promise<string> {
  for (const folder of ancestors(cwd)) {
    for (const marker of markers) {
      const path = join(folder, marker);
      if (marker === '.git' ? await isGitEntry(path) : await exists(path)) return folder;
    }
  }
  return cwd;
}

function trustLevels({ projects = {} }: TomlTable): Map<string, unknown> {
  if (!isTable(projects)) throw configError('projects must be a table');
  return new Map(
    Object.entries(projects).map(([path, project]) => {
      if (!isTable(project)) throw configError(`invalid value, expected a table\nin \`projects.${path}\`\n`);
      return [path, project.trust_level];
    }),
  );
}

/** The first of the folders that has a trust level decides. */
async function isTrusted(trust: Map<string, unknown>, folders: readonly (string | undefined)[]): Promise<boolean> {
  for (const folder of folders) {
    if (folder === undefined) continue;
    const level = trust.get(await resolveLinks(folder)) ?? trust.get(folder);
    if (level !== undefined) return level === 'trusted';
  }
  return false;
}
