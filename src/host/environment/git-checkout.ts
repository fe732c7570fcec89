import { readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

/** A directory under version control. */
export interface Checkout {
  /** The directory that contains `.git`. */
  readonly root: string;
  /** The checkout that owns the repository; differs from `root` in a linked worktree. */
  readonly repository: string;
}

/** The path and all directories above it, nearest first. */
export function ancestors(path: string): string[] {
  const folders = [path];
  for (let folder = path; dirname(folder) !== folder; ) {
    folder = dirname(folder);
    folders.push(folder);
  }
  return folders;
}

/** Whether a `.git` is a file, or a directory with a HEAD. */
export async function isGitEntry(path: string): Promise<boolean> {
  const entry = await stat(path).catch(() => undefined); // usually missing
  if (!entry) return false;
  if (!entry.isDirectory()) return true;
  return (await stat(join(path, 'HEAD')).catch(() => undefined)) !== undefined; // missing, or out of reach
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
  const target = /^gitdir: (.+)$/m.exec(await text(dotGit))?.[1];
  if (target === undefined) return undefined;
  const gitDir = resolve(dirname(dotGit), target.trim());
  const commonDir = resolve(gitDir, (await text(join(gitDir, 'commondir'))).trim());
  const claimed = (await text(join(gitDir, 'gitdir'))).trim();
  const linked = claimed !== '' && (await real(resolve(gitDir, claimed))) === (await real(dotGit));
  return linked && basename(commonDir) === '.git' ? dirname(commonDir) : undefined;
}

const text = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => ''); // missing, or a directory

const real = (path: string): Promise<string> => realpath(path).catch(() => path); // a missing path is compared as it is
