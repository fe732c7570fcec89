import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
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

const found = new Map<string, string>();

/**
 * The path of the addon or of a program beside it: of one built on this machine (build/native), or else of the one that a
 * released package has for this platform (vendor). Both are looked for in the folders above this code.
 */
export function nativeFile(name: string): string {
  const known = found.get(name) ?? search(name);
  found.set(name, known);
  return known;
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
