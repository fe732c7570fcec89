import type { ExactCommand } from './exact-command.ts';
import { placesOn } from './path-trace.ts';
import type { Places } from './writable-places.ts';

/** Belong to the interception, or to the shell that called: no loss to a program outside, and not worth a word. */
const INTERCEPTION = ['CODEX_ESCALATE_SOCKET', 'BASH_EXEC_WRAPPER', 'EXEC_WRAPPER', 'CODEX_ESCALATE_SHELL'];
const HOUSEKEEPING = [...INTERCEPTION, 'CODEX_SANDBOX_NETWORK_DISABLED', '_', 'OLDPWD'];

/**
 * What a caller may say to a program outside: variables that describe, with values that cannot be taken for a path. A list of
 * those that must not pass would never be complete, as every program has its own.
 */
const DESCRIBING: readonly { readonly name: RegExp; readonly value: RegExp }[] = [
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
  /** What is not as the caller had it. */
  readonly changed: readonly string[];
}

/** The environment for a program outside the sandbox: what describes, and what the server itself has. */
export function escalatedEnvironment(
  { env, workdir }: Pick<ExactCommand, 'env' | 'workdir'>,
  own: Readonly<Record<string, string | undefined>>,
  places: Places,
): EscalatedEnvironment {
  const changed: string[] = [];
  const kept: Buffer[] = [];
  for (const entry of env) {
    const { name, value } = split(entry);
    const ownValue = own[name];
    if (name === 'PATH') {
      const safe = safePath(value.toString('latin1'), ownValue, places);
      if (safe !== value.toString('latin1')) changed.push(name);
      kept.push(Buffer.from(`PATH=${safe}`, 'latin1'));
    } else if (
      (ownValue !== undefined && value.equals(Buffer.from(ownValue))) ||
      (name === 'PWD' && value.equals(workdir)) ||
      describes(name, value)
    ) {
      kept.push(entry);
    } else if (!HOUSEKEEPING.includes(name)) {
      changed.push(name);
    }
  }
  return { env: kept, changed: [...new Set(changed)].sort() };
}

/** The environment as it is, but for what belongs to the interception. */
export function withoutInterception(env: readonly Buffer[]): Buffer[] {
  return env.filter((entry) => !INTERCEPTION.includes(split(entry).name));
}

function describes(name: string, value: Buffer): boolean {
  const text = value.toString('latin1');
  return DESCRIBING.some((known) => known.name.test(name) && known.value.test(text));
}

/** A name that is no text is none that is known here. */
function split(entry: Buffer): { name: string; value: Buffer } {
  const at = entry.indexOf('=', 1);
  return at < 0
    ? { name: entry.toString(), value: Buffer.alloc(0) }
    : { name: entry.toString('utf8', 0, at), value: entry.subarray(at + 1) };
}

/** Directories of the system and of the server, as far as commands of the sandbox cannot put programs in them. */
function safePath(path: string, own: string | undefined, places: Places): string {
  const ownFolders = Buffer.from(own ?? '')
    .toString('latin1')
    .split(':');
  const safe = path
    .split(':')
    .filter((folder) => SYSTEM_FOLDER.test(folder) || ownFolders.includes(folder))
    .filter((folder) => folder.startsWith('/') && !isWritable(folder, places));
  return safe.length === 0 ? DEFAULT_PATH : safe.join(':'); // an empty one would mean the working directory
}

function isWritable(folder: string, places: Places): boolean {
  const path = Buffer.from(folder, 'latin1').toString();
  return [path, ...placesOn(path)].some((place) => places.has(place));
}
