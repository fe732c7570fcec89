import { type Params, PathUri, type Result } from '../../protocol/index.ts';
import { discoverRoot, inBatches } from './capability-roots.ts';
import { codexHome, systemFolder, userHome } from './codex-home.ts';
import { FileView } from './file-view.ts';
import { type InstalledPlugin, installedPlugins } from './installed-plugins.ts';
import { parseManifest, pluginRoot } from './plugin-manifest.ts';
import { parseSkillHead, parseSkillTerms } from './skill-document.ts';
import { nameOf, parentOf } from './uri-path.ts';

type Root = Awaited<ReturnType<typeof discoverRoot>>;
type Capabilities = Result<'capabilities/discoverV2'>;

const ROOTS_AT_ONCE = 8;
const CAPABILITIES = 2048;
const RESPONSE_BYTES = 4 * 1024 * 1024;
/** A namespace, a colon and a name. */
const QUALIFIED_NAME_LENGTH = 129;

const incomplete = {
  locations: 'some capability locations could not be resolved; discovery may be incomplete',
  metadata: 'some capability metadata could not be loaded; discovery may be incomplete',
  size: 'capability discovery size limit reached',
};

/** The plugins and skills that the user and the administrator of this machine have installed. */
export async function discoverCapabilities(
  files: ConstructorParameters<typeof FileView>[0],
  { sandbox }: Params<'capabilities/discoverV2'>,
  env: NodeJS.ProcessEnv,
): Promise<Capabilities> {
  const view = new FileView(files, sandbox);
  const home = codexHome(env);
  const { plugins: installed, complete } = await installedPlugins(view, PathUri.fromNative(`${home}/plugins/cache`));
  const plugins = await inBatches(installed, ROOTS_AT_ONCE, (plugin) => describePlugin(view, plugin));
  const folders = [
    { id: 'codex-home-skills', path: PathUri.fromNative(`${home}/skills`) },
    { id: 'user-agent-skills', path: PathUri.fromNative(`${userHome(env)}/.agents/skills`) },
    { id: 'system-skills', path: PathUri.fromNative(`${systemFolder}/skills`) },
  ];
  const standalone = await inBatches(folders, ROOTS_AT_ONCE, (folder) => describeFolder(view, folder));
  const warnings = [...plugins, ...standalone].filter((part) => !part.complete).map(() => incomplete.metadata);
  return withinLimits({
    plugins: plugins.flatMap(({ plugin }) => (plugin ? [plugin] : [])),
    skills: standalone.flatMap(({ skills }) => skills),
    warnings: complete ? warnings : [incomplete.locations, ...warnings],
  });
}

async function describePlugin(view: FileView, { id, version, remotePluginId, root }: InstalledPlugin) {
  const discovery = await discoverRoot(view, id, root);
  const manifest = parseManifest(discovery.plugin?.manifest.contents ?? '');
  if (!discovery.plugin || Object.keys(manifest).length === 0) return { plugin: undefined, complete: false };
  const { skills, complete } = describeSkills(discovery);
  const { displayName } = (manifest.interface ?? {}) as Record<string, unknown>;
  const plugin = {
    id,
    displayName: [displayName, manifest.name].find((name) => typeof name === 'string' && name.trim() !== '') ?? id,
    remotePluginId,
    version,
    root: root.href,
    files: wire(discovery.plugin),
    skills,
  };
  return { plugin, complete };
}

async function describeFolder(view: FileView, discoveryRoot: { id: string; path: PathUri }) {
  const discovery = await discoverRoot(view, discoveryRoot.id, discoveryRoot.path);
  if (discovery.error !== null) return { skills: [], complete: true }; // most machines lack some of the folders
  const { skills, complete } = describeSkills(discovery);
  return { skills: skills.map((skill) => ({ ...skill, discoveryRoot: wire(discoveryRoot) })), complete };
}

function describeSkills(discovery: Root) {
  const namespaces = new Map(
    discovery.namespaceManifests.map((manifest) => [pluginRoot(manifest.path.href), manifest]),
  );
  const skills = discovery.skills.flatMap(({ instructions, metadata }) => {
    const { href } = instructions.path;
    const head = parseSkillHead(instructions.contents, nameOf(parentOf(href)!));
    if (!head) return [];
    const name = qualified(head.name, namespaceOf(href, namespaces));
    if ([...name].length > QUALIFIED_NAME_LENGTH) return [];
    return [{ ...head, name, path: href, ...parseSkillTerms(metadata?.contents) }];
  });
  return { skills, complete: discovery.warnings.length === 0 && skills.length === discovery.skills.length };
}

/** The name of the plugin that a skill is part of. */
function namespaceOf(href: string, namespaces: ReadonlyMap<string, { contents: string }>): string | undefined {
  for (let folder = parentOf(href); folder !== undefined; folder = parentOf(folder)) {
    const manifest = namespaces.get(folder);
    if (!manifest) continue;
    const { name } = parseManifest(manifest.contents);
    return typeof name === 'string' && name.trim() !== '' ? name : nameOf(folder);
  }
  return undefined;
}

const qualified = (name: string, namespace: string | undefined): string => (namespace ? `${namespace}:${name}` : name);

/** An object with its paths as they are on the wire. */
const wire = (value: object): unknown => JSON.parse(JSON.stringify(value));

/** Leaves out the last capabilities of an answer that is too large, and adds a warning. */
function withinLimits({ plugins, skills, warnings }: Capabilities): Capabilities {
  let room = RESPONSE_BYTES - JSON.stringify(warnings).length;
  let count = CAPABILITIES;
  const admit = (capability: Capabilities['skills'][number]): boolean => {
    const bytes = JSON.stringify(capability).length;
    const capabilities = 1 + (Array.isArray(capability.skills) ? capability.skills.length : 0);
    if (capabilities > count || bytes > room) return false;
    room -= bytes;
    count -= capabilities;
    return true;
  };
  const kept = { plugins: plugins.filter(admit), skills: skills.filter(admit) };
  const dropped = kept.plugins.length < plugins.length || kept.skills.length < skills.length;
  return { ...kept, warnings: dropped ? [incomplete.size, ...warnings] : warnings };
}
