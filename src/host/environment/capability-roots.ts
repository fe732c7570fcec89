import { ExecError, type Params, PathUri, type Result } from '../../protocol/index.ts';
import { CapabilityBundle, type TextFile } from './capability-bundle.ts';
import { FileView } from './file-view.ts';
import { manifestRank, pluginRoot, readManifest, readPlugin } from './plugin-manifest.ts';
import { below, nameOf, parentOf } from './uri-path.ts';

type Root = Result<'capabilityRoots/discoverV1'>['roots'][number];

const ROOTS_PER_REQUEST = 128;
const ROOTS_AT_ONCE = 8;
const walkLimits = { maxDepth: 6, maxDirectories: 2000, maxEntries: 20_000 };

/** The plugins and skills in each of the directories. */
export async function discoverRoots(
  files: ConstructorParameters<typeof FileView>[0],
  { roots }: Params<'capabilityRoots/discoverV1'>,
): Promise<Result<'capabilityRoots/discoverV1'>> {
  if (roots.length > ROOTS_PER_REQUEST) {
    throw new ExecError('invalidRequest', `capability root discovery accepts at most ${ROOTS_PER_REQUEST} roots`);
  }
  const discovered = await inBatches(roots, ROOTS_AT_ONCE, ({ id, path, sandbox }) =>
    discoverRoot(new FileView(files, sandbox), id, path),
  );
  return { roots: discovered };
}

/** The results in the order of the items, of which at most `atOnce` are worked on at a time. */
export async function inBatches<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += atOnce) {
    results.push(...(await Promise.all(items.slice(at, at + atOnce).map(work))));
  }
  return results;
}

export async function discoverRoot(view: FileView, id: string, path: PathUri): Promise<Root> {
  const empty = { id, path, plugin: null, skills: [], namespaceManifests: [], warnings: [] };
  try {
    const { isDirectory } = await view.metadata(path);
    if (!isDirectory) return { ...empty, error: `capability root ${path} is not a directory` };
  } catch (error) {
    return { ...empty, error: `failed to inspect capability root ${path}: ${ExecError.from(error).message}` };
  }
  try {
    return { ...(await readRoot(view, id, path)), error: null };
  } catch (error) {
    return { ...empty, error: `failed to scan capability root ${path}: ${ExecError.from(error).message}` };
  }
}

async function readRoot(view: FileView, id: string, path: PathUri): Promise<Omit<Root, 'error'>> {
  const { entries, errors, truncated } = await view.walk(path, walkLimits);
  const bundle = new CapabilityBundle(view);
  bundle.warnings.push(...errors.map((error) => `failed to scan capability path ${error.path}: ${error.message}`));
  if (truncated) bundle.warnings.push(`capability scan reached its traversal limit (root: ${path})`);
  const found = entries.filter(({ kind }) => kind === 'file').map((entry) => entry.path);

  const manifest = await readManifest(bundle, path.href);
  const inherited = manifest ?? (await nearestManifestAbove(bundle, path.href));
  const namespaceManifests = await readNamespaces(bundle, found, inherited);
  const plugin = manifest ? await readPlugin(bundle, path, manifest) : null;
  const skills = await readSkills(bundle, found);
  return { id, path, plugin, skills, namespaceManifests, warnings: bundle.warnings };
}

async function nearestManifestAbove(bundle: CapabilityBundle, href: string): Promise<TextFile | null> {
  for (let folder = parentOf(href); folder !== undefined; folder = parentOf(folder)) {
    const manifest = await readManifest(bundle, folder);
    if (manifest) return manifest;
  }
  return null;
}

/** One manifest for each plugin in or around the root; the names of its skills begin with the plugin's name. */
async function readNamespaces(
  bundle: CapabilityBundle,
  found: readonly string[],
  inherited: TextFile | null,
): Promise<TextFile[]> {
  const manifests = inherited ? [inherited] : [];
  const known = new Set(manifests.map(({ path }) => pluginRoot(path.href)));
  const candidates = found
    .flatMap((href) => {
      const rank = manifestRank(href);
      return rank === undefined ? [] : [{ href, root: pluginRoot(href), rank }];
    })
    .sort((a, b) => compare(a.root, b.root) || a.rank - b.rank);
  for (const { href, root } of candidates) {
    if (known.has(root)) continue;
    known.add(root);
    const manifest = await bundle.read(PathUri.parse(href));
    if (manifest) manifests.push(manifest);
  }
  return manifests;
}

async function readSkills(bundle: CapabilityBundle, found: readonly string[]): Promise<Root['skills']> {
  const skills: Root['skills'] = [];
  for (const href of found.filter((path) => nameOf(path) === 'SKILL.md').sort(compare)) {
    const instructions = await bundle.read(PathUri.parse(href));
    if (!instructions) continue;
    skills.push({ instructions, metadata: await bundle.read(below(parentOf(href)!, 'agents/openai.yaml')) });
  }
  return skills;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
