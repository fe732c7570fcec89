import { basename, resolve } from 'node:path';
import { isRemoteUrl } from './git-config.ts';
import { writableUserConfig } from './git-user-config.ts';
import { exists, isFolder, RepositoryInspection, readSmall, resolveLinks } from './repository-inspection.ts';

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
  /** Whether commands of a sandbox could change the file or directory at a path while git runs. */
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

/**
 * Why git should not run outside a sandbox by a rule alone: its arguments, its repository or one nested in it name programs to
 * run. Undefined when none does. Whatever cannot be read counts as a hazard.
 */
export async function gitHazard(args: readonly string[], options: GitHazardOptions): Promise<string | undefined> {
  try {
    const call = readGlobalOptions(args, options.cwd);
    if (!call) return undefined; // git prints its version
    const { folder, command, words } = call;
    return argumentHazard(command, words, folder) ?? (await diskHazard(command, words, folder, options));
  } catch (error) {
    return (error as Error).message;
  }
}

interface GitCall {
  /** The directory that the command works in. */
  readonly folder: string;
  readonly command: string;
  readonly words: readonly string[];
}

/** Reads the options before the name of the command; throws the hazard of one. Undefined for `git --version`. */
function readGlobalOptions(args: readonly string[], cwd: string): GitCall | undefined {
  let folder = cwd;
  let at = 0;
  for (; args[at]?.startsWith('-'); at++) {
    const option = args[at]!;
    if (option === '-C') folder = resolveLinks(folder, args[++at] ?? '');
    else if (option === '--version') return undefined;
    else if (!/^--(?:no-pager|no-optional-locks|literal-pathspecs|no-replace-objects)$/.test(option)) {
      throw new Error(`git is called with ${option}`);
    }
  }
  const [command = '', ...words] = args.slice(at);
  return { folder, command, words };
}

/** The hazard of a command and its arguments. */
function argumentHazard(command: string, words: readonly string[], folder: string): string | undefined {
  if (!KNOWN_COMMANDS.has(command)) return `git ${command} can run other programs`;
  const hazardous = words.find((word) => isHazardousOption(command, word));
  if (hazardous !== undefined) return `git ${command} is called with ${hazardous}`;
  if (command === 'config' && !isReading(words)) return 'git config writes';
  const local = REMOTE_COMMANDS.has(command) ? words.find((word) => isLocal(word, folder)) : undefined;
  return local === undefined ? undefined : `git ${command} reaches the repository ${local}`;
}

/** The hazard of the files that the command uses: the user's configuration and the repository. */
async function diskHazard(
  command: string,
  words: readonly string[],
  folder: string,
  { variables = {}, isWritable }: GitHazardOptions,
): Promise<string | undefined> {
  const read = (file: string): string | undefined => (exists(file) ? readSmall(file) : undefined);
  const own = writableUserConfig({ variables, isWritable, read });
  if (own !== undefined) return `commands can write ${own}`;
  const inspection = new RepositoryInspection(isWritable);
  await inspection.inspect(folder);
  const address = ADDRESSED_COMMANDS.has(command) ? addressIn(words) : undefined;
  // Git takes a name that is not that of a remote for a directory, which could be there by the time it looks.
  if (address === undefined || isRemoteUrl(address) || inspection.remotes.has(address)) return undefined;
  return `git ${command} reaches the repository ${address}`;
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
