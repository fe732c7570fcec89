import { tracePath } from './path-trace.ts';
import type { WritablePlaces } from './writable-places.ts';

/** Lead to the broker, and mean nothing to a program outside. */
const INTERCEPTION = ['CODEX_ESCALATE_SOCKET', 'BASH_EXEC_WRAPPER', 'EXEC_WRAPPER', 'CODEX_ESCALATE_SHELL'];

/** Make programs run code or read configuration of the caller's choosing. */
const COMMANDEERING: readonly RegExp[] = [
  /^(LD|DYLD)_/,
  /^(GCONV_PATH|GLIBC_TUNABLES|LOCPATH|OPENSSL_(CONF|MODULES|ENGINES))$/,
  /^(BASH_ENV|ENV|SHELLOPTS|BASHOPTS|PS4)$/,
  /^BASH_FUNC_/,
  /^PYTHON(PATH|HOME|STARTUP|INSPECT|USERBASE|EXECUTABLE|BREAKPOINT|WARNINGS)$/,
  /^(PERL5LIB|PERL5OPT|PERL5DB|PERLLIB|RUBYOPT|RUBYLIB|GEM_HOME|GEM_PATH|NODE_OPTIONS|NODE_PATH)$/,
  /^(JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS|CLASSPATH|LUA_C?PATH|PHPRC|MAKEFLAGS|RUSTC_WRAPPER)$/,
  /^GIT_(SSH|CONFIG)/,
  /^GIT_(EXEC_PATH|EXTERNAL_DIFF|EDITOR|SEQUENCE_EDITOR|PAGER|ASKPASS|TEMPLATE_DIR|PROXY_COMMAND)$/,
  /^(PAGER|MANPAGER|EDITOR|VISUAL|BROWSER|LESSOPEN|LESSCLOSE|SSH_ASKPASS|SUDO_ASKPASS)$/,
];

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
  places: WritablePlaces,
): EscalatedEnvironment {
  const changed: string[] = [];
  const kept: Buffer[] = [];
  for (const entry of withoutInterception(env)) {
    const { name, value } = split(entry);
    const shown = name.toString();
    if (COMMANDEERING.some((pattern) => pattern.test(shown)) && own[shown] !== value.toString()) {
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
function safePath(path: string, places: WritablePlaces): string {
  const safe = path.split(':').filter((folder) => folder.startsWith('/') && !isWritable(folder, places));
  return safe.length === 0 ? DEFAULT_PATH : safe.join(':'); // an empty one would mean the working directory
}

function isWritable(folder: string, places: WritablePlaces): boolean {
  const trace = tracePath(Buffer.from(folder, 'latin1').toString());
  return [folder, ...(trace?.places ?? [])].some((place) => places.has(place));
}
