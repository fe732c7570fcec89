import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

/** Included files; a configuration with more counts as a hazard. */
const MOST_FILES = 64;

export interface UserConfigOptions {
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly isWritable: (path: string) => boolean;
  /** The text of a file; undefined for a missing file. */
  readonly read: (file: string) => string | undefined;
}

/** Finds a path that commands can write and git would use: a file of the user's configuration, one that it includes, or a program or directory that it names. */
export function writableUserConfig({ variables, isWritable, read }: UserConfigOptions): string | undefined {
  const known = new Set(userConfigs(variables));
  for (const file of known) {
    if (isWritable(realPath(file))) return file;
    const { included, named } = pathsIn(read(file) ?? '', dirname(realPath(file)));
    const writable = named.find((path) => isWritable(realPath(path)));
    if (writable !== undefined) return writable;
    for (const path of included) known.add(path);
    if (known.size > MOST_FILES) throw new Error(`${file} includes too many files`);
  }
  return undefined;
}

/** The files of the user's configuration. */
function userConfigs({ GIT_CONFIG_GLOBAL, XDG_CONFIG_HOME }: UserConfigOptions['variables']): string[] {
  const folder = XDG_CONFIG_HOME || join(homedir(), '.config');
  return [join(homedir(), '.gitconfig'), join(folder, 'git/config'), ...(GIT_CONFIG_GLOBAL ? [GIT_CONFIG_GLOBAL] : [])];
}

/** Every word that could be a path, except in keys whose values git neither runs nor includes. */
function pathsIn(text: string, folder: string): { included: readonly string[]; named: readonly string[] } {
  const native = (word: string): string => resolve(folder, word.replace(/^~(?=\/)/, homedir()));
  const included = [...text.matchAll(/^.*\bpath\s*=\s*"?([^"\n]+?)"?\s*$/gim)].map(([, word]) => native(word!));
  const lines = text.split('\n').filter((line) => !HARMLESS.test(line));
  const words = lines.flatMap((line) => line.split(/[\s"'=!;]+/)).filter((word) => word.includes('/'));
  return { included, named: words.map(native) };
}

/** Keys of the sections safe, maintenance, gui, core, commit, blame and mailmap. */
const HARMLESS = /^\s*(?:directory|repo|recentrepo|excludesfile|template|ignorerevsfile|file)\s*=/i;

/** The path without links; a missing path as it is. */
function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path; // missing, or out of reach
  }
}
