import { existsSync, lstatSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { once } from '../../base/index.ts';
import { foldersAbove, isReleasedPackage, nativeFolders } from '../os/index.ts';

/** This program's code, Node, and the directories of the links by which the program is started. */
const program = once(() => [...codeFiles(), realpathSync.native(process.execPath), ...startingLinks()]);

/** The directories that contain all dependencies; undefined if some are elsewhere. */
const modules = once(moduleFolders);

const dependencies = once(findDependencies);

/**
 * Every file and directory from which this program loads code or executes a program: its own package or the built parts of a
 * checkout, the native parts, its dependencies, Node, and the directories of the links by which it is started. Real paths, and
 * for native parts that are named by a link that path as well. Dependencies are left out, as finding them takes a while, if
 * they cannot lie in or around one of the roots.
 */
export function ownFiles(roots: readonly string[]): readonly string[] {
  const isNear = (root: string) =>
    modules()?.some((folder) => isWithin(folder, root) || isWithin(root, folder)) ?? true;
  return outermost(roots.some(isNear) ? [...program(), ...dependencies()] : program());
}

/** The folders in which Node looks for packages, unless a dependency is a link that leads out of them. */
function moduleFolders(): readonly string[] | undefined {
  const root = packageFolder();
  const folders = foldersAbove(root).map((folder) => join(folder, 'node_modules'));
  const real = folders.filter((folder) => existsSync(folder)).map((folder) => realpathSync.native(folder));
  const direct = dependencyNames(root).map((name) => installed(name, root));
  const isInside = (path: string | undefined) => path === undefined || real.some((folder) => isWithin(path, folder));
  return direct.every(isInside) ? real : undefined;
}

const isWithin = (path: string, folder: string): boolean =>
  path === folder || folder === '/' || path.startsWith(`${folder}/`);

/** The file that contains this module. */
const codeFile = once(() => realpathSync.native(fileURLToPath(import.meta.url)));

/** `dist` of a package or checkout, or `src` when it runs from source. The file itself if it is bundled into another program. */
function codeRoot(): string {
  const folders = foldersAbove(dirname(codeFile()));
  return folders.find((folder) => ['dist', 'src'].includes(basename(folder))) ?? codeFile();
}

const packageFolder = (): string => dirname(codeRoot());

/** The whole folder of an installed package, but only the built part of a checkout, whose other files its developers change. */
function codeFiles(): readonly string[] {
  const code = codeRoot();
  if (code === codeFile()) return [...bundleFiles(), ...nativeParts()];
  const root = packageFolder();
  return [isReleasedPackage(root) ? root : code, ...nativeParts()];
}

/** The files of the program that this code was bundled into: in the output of bundlers they name each other by relative paths. */
function bundleFiles(): readonly string[] {
  const files = new Set([codeFile()]);
  if (process.argv[1] !== undefined && isFile(process.argv[1])) files.add(realpathSync.native(process.argv[1]));
  for (const file of files) {
    for (const [, named] of readFileSync(file, 'utf8').matchAll(NAMED_FILE)) {
      const path = resolve(dirname(file), named!);
      if (isFile(path)) files.add(realpathSync.native(path));
    }
  }
  return [...files];
}

const NAMED_FILE = /["'`](\.{1,2}\/[^"'`\n]+\.(?:[cm]?js|node|wasm))["'`]/g;

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

function nativeParts(): readonly string[] {
  try {
    const folders = nativeFolders();
    return [...folders, ...folders.map((folder) => join(dirname(folder), 'bash')).filter((path) => existsSync(path))];
  } catch {
    return []; // not built
  }
}

/** The dependencies of this package, and theirs, as Node finds them. */
function findDependencies(): readonly string[] {
  const found = new Set<string>();
  const waiting = [packageFolder()];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    for (const name of dependencyNames(folder)) {
      const path = installed(name, folder);
      if (path === undefined || found.has(path)) continue;
      found.add(path);
      waiting.push(path);
    }
  }
  return [...found];
}

function dependencyNames(folder: string): readonly string[] {
  try {
    const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      dependencies?: object;
      optionalDependencies?: object;
    };
    return Object.keys({ ...dependencies, ...optionalDependencies });
  } catch {
    return []; // a copy without a package.json
  }
}

function installed(name: string, from: string): string | undefined {
  const path = foldersAbove(from)
    .map((folder) => join(folder, 'node_modules', name))
    .find((candidate) => existsSync(candidate));
  return path === undefined ? undefined : realpathSync.native(path);
}

/** The directories of links such as `node_modules/.bin/exec-server`, which decide what runs at the next start. */
function startingLinks(): readonly string[] {
  const folders: string[] = [];
  let path = process.argv[1];
  for (let links = 0; path !== undefined && links < MOST_LINKS && isLink(path); links++) {
    folders.push(realpathSync.native(dirname(path)));
    path = resolve(dirname(path), readlinkSync(path));
  }
  return folders;
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

/** The paths that lie in none of the others. */
function outermost(paths: readonly string[]): readonly string[] {
  return [...new Set(paths)].filter((path, _, all) => !all.some((other) => other !== path && isWithin(path, other)));
}

/** As many as the kernel follows. */
const MOST_LINKS = 40;
