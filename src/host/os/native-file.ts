import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { platformName } from './platform.ts';

/** A native file is nowhere; the remedy is what to do about it. */
export class NativeFileMissing extends Error {
  override readonly name = 'NativeFileMissing';
  readonly remedy: string;

  constructor(message: string, remedy: string) {
    super(message);
    this.remedy = remedy;
  }
}

/** Where the native parts of this program lie: the addon, and the programs that it starts beside processes and in sandboxes. */
export interface ExecServerRuntimePaths {
  /** The directory that has them, such as `vendor/linux-x64-glibc/native` of a released package. */
  readonly native: string;
}

/** The addon is loaded once in a process, and the other parts must be those it was built with: one place holds for all. */
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

  /** Without links: a command could replace one, and have something else executed the next time. */
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

/** Has this process take its native parts from there. To be called before anything is started. */
export const useRuntimePaths = ({ native }: ExecServerRuntimePaths): void => nativeFiles.use(resolve(native));

/**
 * The path of the addon or of a program beside it: where `useRuntimePaths` says, or else of one built on this machine
 * (build/native), or of the one that a released package has for this platform (vendor), both in the folders above this code.
 */
export const nativeFile = (name: string): string => nativeFiles.path(name);

/** The directory of the native parts as it is named, and those in which they lie when links are followed. */
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

/** A folder and those around it, up to the root. */
export function foldersAbove(folder: string): string[] {
  const parent = dirname(folder);
  return parent === folder ? [folder] : [folder, ...foldersAbove(parent)];
}

/** Whether a folder has native files for some platform, as released packages have. */
export function isReleasedPackage(folder: string): boolean {
  const vendor = join(folder, 'vendor');
  return existsSync(vendor) && readdirSync(vendor).some((name) => /^linux-\w+-(glibc|musl)$/.test(name));
}
