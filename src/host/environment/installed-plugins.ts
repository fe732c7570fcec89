import { decodeUtf8 } from '../../base/index.ts';
import { ExecError, type PathUri } from '../../protocol/index.ts';
import type { FileView } from './file-view.ts';
import { below, nameOf, parentOf } from './uri-path.ts';

export interface InstalledPlugin {
  /** `<name>@<marketplace>` */
  readonly id: string;
  readonly version: string;
  readonly remotePluginId: string | null;
  readonly root: PathUri;
}

const walkLimits = { maxDepth: 2, maxDirectories: 2000, maxEntries: 20_000 };
const PLUGINS = 512;
const REMOTE_ID_BYTES = 1024;

/** The plugins in a cache with the layout `<marketplace>/<name>/<version>`, each in the version that is in use. */
export async function installedPlugins(
  view: FileView,
  cache: PathUri,
): Promise<{ plugins: InstalledPlugin[]; complete: boolean }> {
  const versions = new Map<string, string[]>();
  let complete: boolean;
  try {
    const walk = await view.walk(cache, walkLimits);
    complete = !walk.truncated && walk.errors.length === 0;
    for (const { path, kind } of walk.entries) {
      if (kind !== 'directory' || depthBelow(cache.href, path) !== 3) continue;
      const folder = parentOf(path)!;
      versions.set(folder, [...(versions.get(folder) ?? []), nameOf(path)]);
    }
  } catch (error) {
    return { plugins: [], complete: ExecError.from(error).kind === 'notFound' };
  }
  const plugins: InstalledPlugin[] = [];
  for (const [folder, names] of [...versions].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const id = `${nameOf(folder)}@${nameOf(parentOf(folder)!)}`;
    const version = versionInUse(names);
    if (!/^[\w-]+@[\w-]+$/.test(id) || version === undefined) continue;
    if (plugins.length === PLUGINS) return { plugins, complete: false };
    const remote = await remotePluginId(view, folder);
    complete &&= remote !== undefined;
    plugins.push({ id, version, remotePluginId: remote ?? null, root: below(folder, version) });
  }
  return { plugins, complete };
}

const depthBelow = (root: string, href: string): number => href.slice(root.length).split('/').length - 1;

/** `local` if there is one, otherwise the newest. */
export function versionInUse(names: readonly string[]): string | undefined {
  const usable = names.filter((name) => /^[\w.+-]+$/.test(name) && name !== '.' && name !== '..');
  return usable.includes('local') ? 'local' : [...usable].sort(compareVersions).at(-1);
}

const semantic = /^(\d+)\.(\d+)\.(\d+)(?:-([\w.-]+))?(?:\+[\w.-]+)?$/;

function compareVersions(a: string, b: string): number {
  const [left, right] = [semantic.exec(a), semantic.exec(b)];
  if (!left || !right) return a < b ? -1 : Number(a > b);
  for (const part of [1, 2, 3]) {
    const difference = Number(left[part]) - Number(right[part]);
    if (difference !== 0) return difference;
  }
  if (!left[4] || !right[4]) return Number(!left[4]) - Number(!right[4]); // a release is newer than its pre-releases
  return left[4].localeCompare(right[4], 'en', { numeric: true });
}

/** The id of a plugin that was installed from a remote source; null without one, undefined if the file with the id is invalid. */
async function remotePluginId(view: FileView, folder: string): Promise<string | null | undefined> {
  try {
    const install = decodeUtf8(await view.read(below(folder, '.codex-remote-plugin-install.json')));
    const { schema_version: schema, remote_plugin_id: id } = JSON.parse(install) as Record<string, unknown>;
    const usable = schema === 1 && typeof id === 'string' && id.trim() !== '' && id.length <= REMOTE_ID_BYTES;
    return usable ? id.trim() : undefined;
  } catch (error) {
    return ExecError.from(error).kind === 'notFound' ? null : undefined;
  }
}
