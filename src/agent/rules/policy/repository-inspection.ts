import { execFile } from 'node:child_process';
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { readGitConfig } from './git-config.ts';

const DEEPEST = 4;
const MOST_NESTED = 64;
const LARGEST_FILE = 1024 * 1024;

/** Inspects repositories for programs that git would run. */
export class RepositoryInspection {
  /** Names of remotes on other machines, of all inspected repositories. */
  readonly remotes = new Set<string>();
  readonly #isWritable: (path: string) => boolean;
  #count = 0;

  constructor(isWritable: (path: string) => boolean) {
    this.#isWritable = isWritable;
  }

  /** Inspects the repository that a directory is in, if any; throws the hazard. */
  async inspect(folder: string): Promise<void> {
    for (let at = resolveLinks('/', folder); ; at = dirname(at)) {
      const inner = join(at, '.git');
      // Git skips directories that it does not take for a repository, so only a certain one ends the search.
      if (exists(inner)) {
        await this.#inspectRepository(gitFolder(inner), at, 0);
        if (isCertainRepository(gitFolder(inner))) return;
      } else if (isThere(join(at, 'HEAD'))) {
        await this.#inspectRepository(at, undefined, 0);
        if (isCertainRepository(at)) return;
      }
      // A repository could be put there between this look and the start of git.
      if (this.#isWritable(inner) || this.#isWritable(join(at, 'HEAD'))) throw new Error(`commands can write ${at}`);
      if (at === '/') return;
    }
  }

  async #inspectRepository(git: string, tree: string | undefined, depth: number): Promise<void> {
    if (depth > DEEPEST || ++this.#count > MOST_NESTED) throw new Error(`${tree} has too many nested repositories`);
    const pointer = tree === undefined ? undefined : join(tree, '.git');
    const common = commonFolder(git);
    const files = [join(common, 'config'), join(git, 'config'), join(git, 'config.worktree')];
    for (const path of [...(pointer === undefined ? [] : [pointer]), git, common, ...files, join(common, 'hooks')]) {
      if (this.#isWritable(path)) throw new Error(`commands can write ${path}`);
    }
    for (const file of new Set(files)) {
      if (!exists(file)) continue;
      const { harmful, remotes } = readGitConfig(readSmall(file));
      if (harmful !== undefined) throw new Error(`${file} says ${harmful}`);
      for (const name of remotes) this.remotes.add(name);
    }
    const legacy = ['remotes', 'branches'].map((name) => join(common, name)).find((path) => listed(path).length > 0);
    if (legacy !== undefined) throw new Error(`${legacy} may name repositories of this machine`);
    // A fetch goes into submodules that are not checked out, and the removal of a worktree looks for changes there.
    const modules = join(common, 'modules');
    if (listed(modules).length > 0) throw new Error(`${modules} has repositories of submodules`);
    for (const name of listed(join(common, 'worktrees'))) this.#checkWorktree(join(common, 'worktrees', name));
    const todo = join(git, 'rebase-merge/git-rebase-todo');
    if (exists(todo)) throw new Error(`${todo} may name programs`);
    const hook = hookIn(join(common, 'hooks'));
    if (hook !== undefined) throw new Error(`the repository has the hook ${hook}`);
    if (tree !== undefined)
      for (const path of await gitLinks(git, tree)) await this.#inspectNested(join(tree, path), depth);
  }

  #checkWorktree(git: string): void {
    const file = join(git, 'config.worktree');
    if (this.#isWritable(file)) throw new Error(`commands can write ${file}`);
    const { harmful } = exists(file) ? readGitConfig(readSmall(file)) : {};
    if (harmful !== undefined) throw new Error(`${file} says ${harmful}`);
  }

  async #inspectNested(folder: string, depth: number): Promise<void> {
    const inner = join(folder, '.git');
    if (this.#isWritable(inner)) throw new Error(`commands can write ${inner}`);
    if (exists(inner)) await this.#inspectRepository(gitFolder(inner), folder, depth + 1);
  }
}

/** The directory of a `.git`: itself, or the target of the file. */
function gitFolder(path: string): string {
  if (isFolder(path)) return resolveLinks('/', path);
  const target = /^gitdir: (.+?)[\r\n]*$/.exec(readSmall(path))?.[1];
  if (target === undefined) throw new Error(`${path} is not a gitdir file`);
  return resolveLinks(dirname(path), target);
}

/** The directory with the configuration and hooks of a worktree's repository. */
function commonFolder(git: string): string {
  const file = join(git, 'commondir');
  return exists(file) ? resolveLinks(git, readSmall(file).replace(/[\r\n]+$/, '')) : git;
}

/** Resolves a path from a directory through its links, as git does. */
export function resolveLinks(folder: string, path: string): string {
  return realpathSync.native(path.startsWith('/') ? path : `${folder}/${path}`);
}

/** Throws for bytes that are not UTF-8, as the decoded name would be another one. */
const exactText = (bytes: Uint8Array): string =>
  new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);

/** Reads a file; does not wait for a pipe in its place. */
export function readSmall(path: string): string {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const status = fstatSync(descriptor);
    if (!status.isFile() || status.size > LARGEST_FILE)
      throw new Error(`${path} cannot be read: it is not a file of at most 1 MiB`);
    return exactText(readFileSync(descriptor));
  } finally {
    closeSync(descriptor);
  }
}

const listed = (folder: string): readonly string[] => (isFolder(folder) ? readdirSync(folder) : []);

function hookIn(folder: string): string | undefined {
  return listed(folder).find((name) => !name.endsWith('.sample') && isExecutable(join(folder, name)));
}

/** Paths of the nested repositories in the index. Runs git, so the configuration must be known to be harmless. */
async function gitLinks(git: string, tree: string): Promise<string[]> {
  if (!exists(join(git, 'index'))) return [];
  const env = {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    HOME: '/',
  };
  const own = ['-c', `safe.directory=${tree}`, '-c', 'core.fsmonitor=false', `--git-dir=${git}`, `--work-tree=${tree}`];
  const options = { cwd: tree, env, maxBuffer: 64 * 1024 * 1024, timeout: 10_000, encoding: 'buffer' } as const;
  const { stdout } = await promisify(execFile)('git', [...own, 'ls-files', '--stage', '-z'], options);
  return exactText(stdout)
    .split('\0')
    .filter((line) => line.startsWith('160000 '))
    .map((line) => line.slice(line.indexOf('\t') + 1));
}

/** Whether git certainly takes a directory for a repository. */
function isCertainRepository(git: string): boolean {
  const common = commonFolder(git);
  const head = exists(join(git, 'HEAD')) ? readSmall(join(git, 'HEAD')) : '';
  const isHead = /^(?:ref: refs\/\S+|[0-9a-f]{40}|[0-9a-f]{64})\n?$/.test(head);
  return isHead && isFolder(join(common, 'objects')) && isFolder(join(common, 'refs'));
}

/** Whether there is a file or a link; git also takes a link that leads nowhere for a HEAD. */
const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;
export const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;
export const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false; // a link that leads nowhere is not a hook
  }
}
