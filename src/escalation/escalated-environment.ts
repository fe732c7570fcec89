import { placesOn } from './path-trace.ts';
import type { Places } from './writable-places.ts';

/** Lead to the broker, and mean nothing to a program outside. */
const INTERCEPTION = ['CODEX_ESCALATE_SOCKET', 'BASH_EXEC_WRAPPER', 'EXEC_WRAPPER', 'CODEX_ESCALATE_SHELL'];

/** Make programs run code or read configuration of the caller's choosing. */
const COMMANDEERING: readonly RegExp[] = [
  /^(LD|DYLD)_/,
  /^(GCONV_PATH|GLIBC_TUNABLES|LOCPATH|OPENSSL_(CONF|MODULES|ENGINES))$/,
  /^(BASH_ENV|ENV|SHELLOPTS|BASHOPTS|PS4)$/,
  /^BASH_FUNC_/,
  /^PYTHON(PATH|HOME|STARTUP|INSPECT|USERBASE|EXECUTABLE|BREAKPOINT|WARNINGS|PLATLIBDIR|PYCACHEPREFIX)$/,
  /^(PERL5LIB|PERL5OPT|PERL5DB|PERLLIB|RUBYOPT|RUBYLIB|GEM_HOME|GEM_PATH|NODE_OPTIONS|NODE_PATH)$/,
  /^(JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS|CLASSPATH|LUA_C?PATH|PHPRC|MAKEFLAGS|RUSTC_WRAPPER)$/,
  // The rest names programs, configuration, or files to write to.
  /^GIT_(?!(AUTHOR|COMMITTER)_|(DIR|WORK_TREE|INDEX_FILE|TERMINAL_PROMPT|OPTIONAL_LOCKS|LITERAL_PATHSPECS)$)/,
  /^(TAR_OPTIONS|RSYNC_RSH|CVS_RSH|GOFLAGS|MAKEFILES|DOTNET_STARTUP_HOOKS|RUSTFLAGS|RUSTC|CC|CXX)$/,
  /^(PAGER|MANPAGER|EDITOR|VISUAL|BROWSER|LESSOPEN|LESSCLOSE|SSH_ASKPASS|SUDO_ASKPASS)$/,
];

/** Lead to configuration, which is the user's own unless commands can write it. */
const LEADING =
  /^(HOME|ZDOTDIR|XDG_(CONFIG|DATA)_(HOME|DIRS)|GNUPGHOME|CARGO_HOME|DOCKER_CONFIG|KUBECONFIG|CURL_HOME)$/;

const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

export interface EscalatedEnvironment {
  readonly env: readonly Buffer[];
  /** What is not as the caller had it. */
  readonly changed: readonly string[];
}

/** The environment for a program outside the sandbox. What the server itself has is no danger. */
export function escalatedEnvironment(
  env: readonly Buffer[],
  own: Readonly<Record<string, string | undefined>>,
  places: Places,
): EscalatedEnvironment {
  const changed: string[] = [];
  const kept: Buffer[] = [];
  for (const entry of withoutInterception(env)) {
    const { name, value } = split(entry);
    const shown = name.toString();
    const isOwn = own[shown] === value.toString();
    if (!isOwn && COMMANDEERING.some((pattern) => pattern.test(shown))) {
      changed.push(shown);
    } else if (!isOwn && LEADING.test(shown) && !isSafe(value.toString('latin1'), places)) {
      changed.push(shown);
    } else if (shown === 'PATH') {
      const safe = safePath(value.toString('latin1'), places);
      if (safe !== value.toString('latin1')) changed.push(shown);
      kept.push(Buffer.from(`PATH=${safe}`, 'latin1'));
    } else {
      kept.push(entry);
    }
  }
  return { env: kept, changed: [...new Set(changed)].sort() };
}

/** The environment as it is, but for what belongs to the interception. */
export function withoutInterception(env: readonly Buffer[]): Buffer[] {
  return env.filter((entry) => !INTERCEPTION.includes(split(entry).name.toString()));
}

function split(entry: Buffer): { name: Buffer; value: Buffer } {
  const at = entry.indexOf('=', 1);
  return at < 0
    ? { name: entry, value: Buffer.alloc(0) }
    : { name: entry.subarray(0, at), value: entry.subarray(at + 1) };
}

/** Without the directories that commands of the sandbox could have put programs in. */
function safePath(path: string, places: Places): string {
  const safe = path.split(':').filter((folder) => isSafe(folder, places));
  return safe.length === 0 ? DEFAULT_PATH : safe.join(':'); // an empty one would mean the working directory
}

const isSafe = (path: string, places: Places): boolean =>
  path.split(':').every((folder) => folder.startsWith('/') && !isWritable(folder, places));

function isWritable(folder: string, places: Places): boolean {
  const path = Buffer.from(folder, 'latin1').toString();
  return [path, ...placesOn(path)].some((place) => places.has(place));
}
