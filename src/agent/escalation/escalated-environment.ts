import type { ExactCommand } from './exact-command.ts';
import { visitedPaths } from './path-trace.ts';
import type { WritablePaths } from './writable-paths.ts';

/** Variables of the interception and of the calling shell: left out without telling the user, as programs outside do not need them. */
const INTERCEPTION = ['CODEX_ESCALATE_SOCKET', 'BASH_EXEC_WRAPPER', 'EXEC_WRAPPER', 'CODEX_ESCALATE_SHELL'];
const HOUSEKEEPING = [...INTERCEPTION, 'CODEX_SANDBOX_NETWORK_DISABLED', '_', 'OLDPWD'];

/**
 * Variables that a caller may set for a program outside: they describe something, and their values cannot be taken for a path.
 * A list of harmful variables would never be complete, as every program has its own.
 */
const HARMLESS: readonly { readonly name: RegExp; readonly value: RegExp }[] = [
  {
    name: /^(?:LANG|LANGUAGE|LC_(?:ALL|ADDRESS|COLLATE|CTYPE|IDENTIFICATION|MEASUREMENT|MESSAGES|MONETARY|NAME|NUMERIC|PAPER|TELEPHONE|TIME))$/,
    value: /^(?:[A-Za-z][\w.@:-]{0,127})?$/,
  },
  { name: /^TERM$/, value: /^[A-Za-z0-9][\w.+-]{0,63}$/ },
  { name: /^TZ$/, value: /^[A-Za-z][\w+-]{0,31}(?:\/[A-Za-z][\w+-]{0,31}){0,2}$/ },
  { name: /^(?:COLUMNS|LINES|SHLVL|SOURCE_DATE_EPOCH)$/, value: /^\d{1,20}$/ },
  { name: /^(?:NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE|COLORTERM|CI|PYTHONUNBUFFERED)$/, value: /^\w{0,32}$/ },
];

const SYSTEM_FOLDER = /^(?:\/usr(?:\/local)?)?\/s?bin$/;
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

export interface EscalatedEnvironment {
  readonly env: readonly Buffer[];
  /** Names of the variables that are left out or changed. */
  readonly changed: readonly string[];
}

/** The environment for a program outside the sandbox: harmless variables, and those that the server has with the same value. */
export function escalatedEnvironment(
  { env, workdir }: Pick<ExactCommand, 'env' | 'workdir'>,
  own: Readonly<Record<string, string | undefined>>,
  writable: WritablePaths,
): EscalatedEnvironment {
  const changed: string[] = [];
  const kept: Buffer[] = [];
  for (const entry of env) {
    const { name, value } = split(entry);
    const ownValue = own[name];
    if (name === 'PATH') {
      const safe = safePath(value.toString('latin1'), ownValue, writable);
      if (safe !== value.toString('latin1')) changed.push(name);
      kept.push(Buffer.from(`PATH=${safe}`, 'latin1'));
    } else if (
      (ownValue !== undefined && value.equals(Buffer.from(ownValue))) ||
      (name === 'PWD' && value.equals(workdir)) ||
      isHarmless(name, value)
    ) {
      kept.push(entry);
    } else if (!HOUSEKEEPING.includes(name)) {
      changed.push(name);
    }
  }
  return { env: kept, changed: [...new Set(changed)].sort() };
}

/** The environment without the variables of the interception. */
export function withoutInterception(env: readonly Buffer[]): Buffer[] {
  return env.filter((entry) => !INTERCEPTION.includes(split(entry).name));
}

function isHarmless(name: string, value: Buffer): boolean {
  const text = value.toString('latin1');
  return HARMLESS.some((known) => known.name.test(name) && known.value.test(text));
}

/** Bytes of a name that are not UTF-8 become U+FFFD, so such a name matches no known one. */
function split(entry: Buffer): { name: string; value: Buffer } {
  const at = entry.indexOf('=', 1);
  return at < 0
    ? { name: entry.toString(), value: Buffer.alloc(0) }
    : { name: entry.toString('utf8', 0, at), value: entry.subarray(at + 1) };
}

/** The directories of a PATH that belong to the system or to the server's own PATH, and that no command can write. */
function safePath(path: string, own: string | undefined, writable: WritablePaths): string {
  const ownFolders = Buffer.from(own ?? '')
    .toString('latin1')
    .split(':');
  const safe = path
    .split(':')
    .filter((folder) => SYSTEM_FOLDER.test(folder) || ownFolders.includes(folder))
    .filter((folder) => folder.startsWith('/') && !isWritable(folder, writable));
  return safe.length === 0 ? DEFAULT_PATH : safe.join(':'); // an empty PATH would mean the working directory
}

function isWritable(folder: string, writable: WritablePaths): boolean {
  const path = Buffer.from(folder, 'latin1').toString();
  return [path, ...visitedPaths(path)].some((place) => writable.has(place));
}
