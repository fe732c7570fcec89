import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { ancestors, exists, resolveLinks } from './native-paths.ts';

/** A directory under version control. */
export interface Checkout {
  /** The directory that contains `.git`. */
  readonly root: string;
  /** The checkout that owns the repository; differs from `root` in a linked worktree. */
  readonly repository: string;
}

/** Whether a `.git` is a file, or a directory with a HEAD. */
export async function isGitEntry(path: string): Promise<boolean> {
  const entry = await stat(path).catch(() => undefined); // usually missing
  if (!entry) return false;
  if (!entry.isDirectory()) return true;
  return exists(join(path, 'HEAD'));
}

export async function findCheckout(cwd: string): Promise<Checkout | undefined> {
  for (const root of ancestors(cwd)) {
    const dotGit = join(root, '.git');
    if (!(await isGitEntry(dotGit))) continue;
    return { root, repository: (await linkedRepository(dotGit)) ?? root };
  }
  return undefined;
}

/**
 * The checkout that a linked worktree belongs to.
 * The repository must name the worktree too: a `.git` file alone could claim any repository.
 */
async function linkedRepository(dotGit: string): Promise<string | undefined> {
  const target = /^gitdir: (.+)$/m.exec(await readText(dotGit))?.[1];
  if (target === undefined) return undefined;
  const gitDir = resolve(dirname(dotGit), target.trim());
  const commonDir = resolve(gitDir, (await readText(join(gitDir, 'commondir'))).trim());
  const claimed = (await readText(join(gitDir, 'gitdir'))).trim();
  const linked = claimed !== '' && (await resolveLinks(resolve(gitDir, claimed))) === (await resolveLinks(dotGit));
  return linked && basename(commonDir) === '.git' ? dirname(commonDir) : undefined;
}

const readText = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => ''); // missing, or a directory
