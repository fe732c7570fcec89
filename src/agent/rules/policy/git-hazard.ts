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
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { writableUserConfig } from '../git-user-config.ts';
import { isRemoteUrl, readGitConfig } from './git-config.ts';

/** Git commands that run no other programs than those in hooks and configuration. */
const KNOWN_COMMANDS = new Set(
  (
    'add am apply archive blame branch bundle cat-file check-attr check-ignore checkout cherry cherry-pick clean clone commit ' +
    'commit-tree config count-objects describe diff diff-files diff-index diff-tree fetch for-each-ref format-patch fsck gc grep ' +
    'hash-object init log ls-files ls-remote ls-tree merge merge-base mv name-rev notes pull push range-diff read-tree rebase ' +
    'reflog remote reset restore rev-list rev-parse revert rm shortlog show show-ref sparse-checkout stash status switch ' +
    'symbolic-ref tag update-index update-ref var version whatchanged worktree write-tree'
  ).split(' '),
);
/** Git commands that connect to other repositories. */
const REMOTE_COMMANDS = new Set('archive clone fetch ls-remote pull push remote'.split(' '));
/**
 * Options that name a program, lead into repositories that are not inspected, or make a command that shows something write it
 * over any file instead. Git also accepts a prefix of an option.
 */
const HAZARDOUS_OPTIONS = (
  'exec upload-pack receive-pack open-files-in-pager recurse-submodules recursive template extcmd config remote repo multiple ' +
  'output'
).split(' ');
/** Commands whose first word is a repository: hooks of one on this machine would run. */
const ADDRESSED_COMMANDS = new Set('fetch ls-remote pull push'.split(' '));
/** Options that a number follows. */
const NUMBER_OPTIONS = /^(?:--depth|--deepen|--jobs|-j)$/;
/** Short options that name a program, by command. */
const HAZARDOUS_FLAGS: Readonly<Record<string, RegExp>> = {
  rebase: /^-[a-z]*x/,
  grep: /^-[A-Za-z]*O/,
  clone: /^-[a-z]*[cu]/,
};

export interface GitHazardOptions {
  /** The variables of the process that starts git, which can name configuration files. */
  readonly variables?: Readonly<Record<string, string | undefined>>;
  /** The directory that the command runs in, absolute. */
  readonly cwd: string;
  /** Whether commands of a sandbox could change what is at a path while git runs. */
  readonly isWritable: (path: string) => boolean;
}

export const isGit = (program: string | undefined): boolean => program !== undefined && basename(program) === 'git';

/** Programs that run what their arguments name. */
const RUNNERS = new Set(
  'busybox chroot chrt doas env exec find flock ionice nice nohup parallel setpriv setsid stdbuf sudo taskset time timeout unshare watch xargs'.split(
    ' ',
  ),
);

/** `gitHazard` for a whole command: git itself, or a program that runs it. */
export async function gitCallHazard(argv: readonly string[], options: GitHazardOptions): Promise<string | undefined> {
  const [program = '', ...args] = argv;
  if (isGit(program)) return gitHazard(args, options);
  return callsGit(argv) ? `git is run by ${basename(program)}` : undefined;
}

/** Whether a command is git or hands git to a program that runs it. */
export function callsGit([program = '', ...args]: readonly string[]): boolean {
  return isGit(program) || (RUNNERS.has(basename(program)) && args.some(isGit));
}

const DEEPEST = 4;
const MOST_NESTED = 64;
const LARGEST_FILE = 1024 * 1024;

/**
 * Why git should not run outside a sandbox by a rule alone: its arguments, its repository or one nested in it name programs to
 * run. Undefined when none does. Whatever cannot be read counts as a hazard.
 */
export async function gitHazard(
  args: readonly string[],
  { cwd, variables = {}, isWritable }: GitHazardOptions,
): Promise<string | undefined> {
  try {
    let folder = cwd;
    let at = 0;
    for (; args[at]?.startsWith('-'); at++) {
      const option = args[at]!;
      if (option === '-C') folder = resolveLinks(folder, args[++at] ?? '');
      else if (option === '--version') return undefined;
      else if (!/^--(?:no-pager|no-optional-locks|literal-pathspecs|no-replace-objects)$/.test(option)) {
        return `git is called with ${option}`;
      }
    }
    const [command = '', ...words] = args.slice(at);
    if (!KNOWN_COMMANDS.has(command)) return `git ${command} can run other programs`;
    const hazardous = words.find((word) => isHazardousOption(command, word));
    if (hazardous !== undefined) return `git ${command} is called with ${hazardous}`;
    if (command === 'config' && !isReading(words)) return 'git config writes';
    const local = REMOTE_COMMANDS.has(command) ? words.find((word) => isLocal(word, folder)) : undefined;
    if (local !== undefined) return `git ${command} reaches the repository ${local}`;
    const own = writableUserConfig({
      variables,
      isWritable,
      read: (file) => (exists(file) ? readSmall(file) : undefined),
    });
    if (own !== undefined) return `commands can write ${own}`;
    const inspection = new RepositoryInspection(isWritable);
    await inspection.inspect(folder);
    const address = ADDRESSED_COMMANDS.has(command) ? addressIn(words) : undefined;
    // Git takes a name that is not that of a remote for a directory, which could be there by the time it looks.
    if (address === undefined || isRemoteUrl(address) || inspection.remotes.has(address)) return undefined;
    return `git ${command} reaches the repository ${address}`;
  } catch (error) {
    return (error as Error).message;
  }
}

function isHazardousOption(command: string, word: string): boolean {
  if (!word.startsWith('--')) return HAZARDOUS_FLAGS[command]?.test(word) ?? false;
  const name = word.slice(2).split('=')[0]!;
  if (name === '') return false;
  return HAZARDOUS_OPTIONS.some((option) => option.startsWith(name));
}

/** Whether `git config` only reads: a program written to the user's configuration would be run by the next git. */
function isReading(words: readonly string[]): boolean {
  const [first, ...rest] = words;
  return (
    /^(?:--get(?:-all|-regexp|-urlmatch)?|--list|-l)$/.test(first ?? '') ||
    (first?.[0] !== '-' && first !== 'edit' && rest.length === 0)
  );
}

/** The first word that is neither an option nor its number. */
function addressIn(words: readonly string[]): string | undefined {
  return words.find((word, at) => !word.startsWith('-') && !NUMBER_OPTIONS.test(words[at - 1] ?? ''));
}

/** Whether a word may be the address of a repository on this machine, whose hooks and configuration would count as well. */
function isLocal(word: string, folder: string): boolean {
  if (word.startsWith('-') || isRemoteUrl(word)) return false;
  return word.includes('::') || word.startsWith('file:') || isFolder(resolve(folder, word));
}

/** Inspects repositories for programs that git would run. */
class RepositoryInspection {
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
        await this.#repository(gitFolder(inner), at, 0);
        if (isCertainRepository(gitFolder(inner))) return;
      } else if (isThere(join(at, 'HEAD'))) {
        await this.#repository(at, undefined, 0);
        if (isCertainRepository(at)) return;
      }
      // A repository could be put there between this look and the start of git.
      if (this.#isWritable(inner) || this.#isWritable(join(at, 'HEAD'))) throw new Error(`commands can write ${at}`);
      if (at === '/') return;
    }
  }

  async #repository(git: string, tree: string | undefined, depth: number): Promise<void> {
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
    if (tree !== undefined) for (const path of await gitLinks(git, tree)) await this.#nested(join(tree, path), depth);
  }

  #checkWorktree(git: string): void {
    const file = join(git, 'config.worktree');
    if (this.#isWritable(file)) throw new Error(`commands can write ${file}`);
    const { harmful } = exists(file) ? readGitConfig(readSmall(file)) : {};
    if (harmful !== undefined) throw new Error(`${file} says ${harmful}`);
  }

  async #nested(folder: string, depth: number): Promise<void> {
    const inner = join(folder, '.git');
    if (this.#isWritable(inner)) throw new Error(`commands can write ${inner}`);
    if (exists(inner)) await this.#repository(gitFolder(inner), folder, depth + 1);
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
function resolveLinks(folder: string, path: string): string {
  return realpathSync.native(path.startsWith('/') ? path : `${folder}/${path}`);
}

/** Throws for bytes that are not UTF-8, as the decoded name would be another one. */
const exactText = (bytes: Uint8Array): string =>
  new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);

/** Reads a file; does not wait for a pipe in its place. */
function readSmall(path: string): string {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const status = fstatSync(descriptor);
    if (!status.isFile() || status.size > LARGEST_FILE) throw new Error(`${path} cannot be read`);
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
const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;
const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false; // a link that leads nowhere is not a hook
  }
}
