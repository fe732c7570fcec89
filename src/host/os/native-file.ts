import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { platformName } from './platform.ts';

/** Thrown when a native file is missing. */
export class NativeFileMissing extends Error {
  override readonly name = 'NativeFileMissing';
  readonly remedy: string;

  constructor(message: string, remedy: string) {
    super(message);
    this.remedy = remedy;
  }
}

/** The directories of the native parts of this program: the addon, and the programs that it starts as helpers and in sandboxes. */
export interface ExecServerRuntimePaths {
  /** Their directory, such as `vendor/linux-x64-glibc/native` of a released package. */
  readonly native: string;
}

/** The native files of this process, all from one directory: the addon is loaded once, and the other parts must fit it. */
class NativeFiles {
  readonly #found = new Map<string, string>();
  #folder: string | undefined;

  use(folder: string): void {
    if (this.#folder === folder) return;
    const [used] = this.#found.values();
    if (used !== undefined)
      throw new Error(`native parts cannot be taken from ${folder}: this process uses ${dirname(used)}`);
    this.#folder = folder;
  }

  /** The real path, because a command could replace a link, and have another program executed the next time. */
  path(name: string): string {
    const path = this.#found.get(name) ?? realpathSync.native(this.named(name));
    this.#found.set(name, path);
    return path;
  }

  named(name: string): string {
    return this.#folder === undefined ? search(name) : inFolder(this.#folder, name);
  }
}

const nativeFiles = new NativeFiles();

/** Sets the directory of the native parts for this process. To be called before any of them is used. */
export const useRuntimePaths = ({ native }: ExecServerRuntimePaths): void => nativeFiles.use(resolve(native));

/**
 * The path of the addon or of a program beside it: in the directory of `useRuntimePaths`, or else the one that was built on this
 * machine (build/native), or the one in a released package for this platform (vendor), both in the folders above this code.
 */
export const nativeFile = (name: string): string => nativeFiles.path(name);

/** The directory of the native parts as it is configured, and the directories of their real paths. */
export function nativeFolders(): readonly string[] {
  const named = dirname(nativeFiles.named('fs-helper'));
  const present = readdirSync(named)
    .map((name) => join(named, name))
    .filter((path) => existsSync(path));
  const real = present.map((path) => dirname(realpathSync.native(path)));
  return [...new Set([named, realpathSync.native(named), ...real])];
}

function inFolder(folder: string, name: string): string {
  const path = join(folder, name);
  if (existsSync(path)) return path;
  throw new NativeFileMissing(
    `${folder} has no ${name}`,
    'name the directory of the native parts (ExecServerRuntimePaths)',
  );
}

function search(name: string): string {
  const above = foldersAbove(dirname(fileURLToPath(import.meta.url)));
  for (const folder of above) {
    const built = join(folder, 'build', 'native', name);
    if (existsSync(built)) return built;
    const released = join(folder, 'vendor', platformName(), 'native', name);
    if (existsSync(released)) return released;
  }
  throw above.some(isReleasedPackage)
    ? new NativeFileMissing(`this package has no ${name} for ${platformName()}`, 'build it from its source here')
    : new NativeFileMissing(`build/native/${name} is missing`, 'run npm run build:native');
}

/** A folder and the folders around it, up to the root. */
export function foldersAbove(folder: string): string[] {
  const parent = dirname(folder);
  return parent === folder ? [folder] : [folder, ...foldersAbove(parent)];
}

/** Whether a folder has native files for some platform, as released packages have. */
export function isReleasedPackage(folder: string): boolean {
  const vendor = join(folder, 'vendor');
  return existsSync(vendor) && readdirSync(vendor).some((name) => /^linux-\w+-(glibc|musl)$/.test(name));
}
