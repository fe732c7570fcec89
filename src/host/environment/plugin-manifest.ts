import type { PathUri } from '../../protocol/index.ts';
import type { CapabilityBundle, TextFile } from './capability-bundle.ts';
import { below, nameOf, parentOf } from './uri-path.ts';

/** The folders in which a plugin may have its manifest, the preferred one first. */
const manifestFolders = ['.codex-plugin', '.claude-plugin', '.cursor-plugin'];

export interface PluginFiles {
  readonly manifest: TextFile;
  readonly mcpConfig: TextFile | null;
  readonly appsConfig: TextFile | null;
}

/** The rank of a manifest among those of its plugin, the preferred one first; undefined for other files. */
export function manifestRank(href: string): number | undefined {
  const folder = parentOf(href);
  const rank = nameOf(href) === 'plugin.json' && folder ? manifestFolders.indexOf(nameOf(folder)) : -1;
  return rank < 0 ? undefined : rank;
}

/** The directory of the plugin that a manifest describes. */
export function pluginRoot(manifestHref: string): string {
  return parentOf(parentOf(manifestHref)!)!;
}

/** The manifest of the plugin in a directory. */
export async function readManifest(bundle: CapabilityBundle, root: string): Promise<TextFile | null> {
  for (const folder of manifestFolders) {
    const manifest = await bundle.read(below(root, `${folder}/plugin.json`));
    if (manifest) return manifest;
  }
  return null;
}

/** The manifest with the files that it names. MCP servers may be in the manifest itself. */
export async function readPlugin(bundle: CapabilityBundle, root: PathUri, manifest: TextFile): Promise<PluginFiles> {
  const { mcpServers, apps } = parseManifest(manifest.contents);
  const declared = (field: string, value: unknown) => declaredFile(bundle, root, manifest, field, value);
  const inline = typeof mcpServers === 'object' && mcpServers !== null && !Array.isArray(mcpServers);
  const mcpPath = declared('mcpServers', mcpServers) ?? (inline ? undefined : below(root.href, '.mcp.json'));
  const appsPath = declared('apps', apps);
  return {
    manifest,
    mcpConfig: mcpPath ? await bundle.read(mcpPath) : null,
    appsConfig: appsPath ? await bundle.read(appsPath) : null,
  };
}

/** The object in a manifest; empty if it is not a JSON object. */
export function parseManifest(contents: string): Readonly<Record<string, unknown>> {
  try {
    const manifest: unknown = JSON.parse(contents);
    return typeof manifest === 'object' && manifest !== null ? (manifest as Record<string, unknown>) : {};
  } catch {
    return {}; // clients get the contents, and report the error
  }
}

function declaredFile(
  bundle: CapabilityBundle,
  root: PathUri,
  manifest: TextFile,
  field: string,
  value: unknown,
): PathUri | undefined {
  if (typeof value !== 'string') return undefined;
  const problem = declarationProblem(root, value);
  if (problem === undefined) return below(root.href, value.slice(2));
  bundle.warnings.push(`ignoring ${field} in ${manifest.path}: ${problem}`);
  return undefined;
}

function declarationProblem(root: PathUri, declared: string): string | undefined {
  if (!declared.startsWith('./')) return 'path must start with `./`';
  const relative = declared.slice(2);
  const inside = below(root.href, relative).href.startsWith(`${root.href.replace(/\/$/, '')}/`);
  const stays = inside && relative !== '' && !relative.split(/[/\\]/).includes('..');
  return stays ? undefined : 'path must remain below the capability root';
}
