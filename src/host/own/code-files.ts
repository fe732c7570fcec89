import { existsSync, lstatSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { once } from '../../base/index.ts';
import { foldersAbove, isReleasedPackage, nativeFolders } from '../os/index.ts';

/** Its code, the Node it runs in and the directories of the links it is started by. */
const program = once(() => [...codeFiles(), realpathSync.native(process.execPath), ...startingLinks()]);

/** Directories in one of which every dependency lies; undefined if some lie elsewhere. */
const modules = once(moduleFolders);

const dependencies = once(findDependencies);

/**
 * Every file and directory from which this program loads code or executes a program: its own package or the built parts of a
 * checkout, the native parts, the dependencies it runs with, Node, and the directories of the links it is started by. They are
 * without links, and where the native parts are named by one that name is there as well.
 * Of dependencies only those that could lie in or around one of the roots: finding them takes a while.
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

/** The file that holds this code. */
const codeFile = once(() => realpathSync.native(fileURLToPath(import.meta.url)));

/** Where this code lies: `dist` of a package or checkout, `src` when it runs from its source. Bundled into another program it is one file. */
function codePlace(): string {
  const folders = foldersAbove(dirname(codeFile()));
  return folders.find((folder) => ['dist', 'src'].includes(basename(folder))) ?? codeFile();
}

const packageFolder = (): string => dirname(codePlace());

/** All of a package is ours. Of a checkout only what is built: the rest is what its developers work on. */
function codeFiles(): readonly string[] {
  const place = codePlace();
  if (place === codeFile()) return [...bundleFiles(), ...nativeParts()];
  const root = packageFolder();
  return [isReleasedPackage(root) ? root : place, ...nativeParts()];
}

/** The files of the program that this code was bundled into: bundlers have them name each other by relative paths. */
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

/** The packages that the package needs to run, and those that they need, as Node finds them. */
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
    return []; // a copy without a description of itself
  }
}

function installed(name: string, from: string): string | undefined {
  const places = foldersAbove(from).map((folder) => join(folder, 'node_modules', name));
  const path = places.find((place) => existsSync(place));
  return path === undefined ? undefined : realpathSync.native(path);
}

/** A link like `node_modules/.bin/exec-server` decides what runs at the next start: its directory must stay as it is. */
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

/** What lies in none of the others. */
function outermost(paths: readonly string[]): readonly string[] {
  return [...new Set(paths)].filter((path, _, all) => !all.some((other) => other !== path && isWithin(path, other)));
}

/** More than the kernel follows. */
const MOST_LINKS = 40;
