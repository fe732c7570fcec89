import { basename } from 'node:path';
import { plainCommands } from '../rules/index.ts';
import type { CommandRequest } from './command-request.ts';

/** Remembered answers; the oldest is forgotten for a new one. */
const MOST_REMEMBERED = 1_000;

/** The keys of what the user has accepted for the session. */
export class SessionApprovals {
  readonly #keys = new Set<string>();

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  add(key: string): void {
    this.#keys.delete(key);
    this.#keys.add(key);
    if (this.#keys.size > MOST_REMEMBERED) this.#keys.delete(this.#keys.values().next().value!);
  }
}

/** The key of a file, for all tools and kinds of change. */
export const fileKey = (environmentId: string, path: string): string => JSON.stringify(['file', environmentId, path]);

/** The key of a command: an answer holds for all calls with the same one. */
export function commandKey(request: CommandRequest): string {
  const { environmentId, argv, cwd, tty, sandboxPermissions, additionalPermissions } = request;
  const executable = argv[0] ?? '';
  return JSON.stringify([
    'command',
    environmentId,
    executable,
    canonical(argv),
    cwd,
    tty,
    sandboxPermissions,
    sorted(additionalPermissions ?? null),
  ]);
}

/** A script of one plain command counts as that command, however it is quoted and whichever shell runs it. */
function canonical(argv: readonly string[]): readonly string[] {
  const plain = plainCommands(argv);
  if (plain?.length === 1) return plain[0]!;
  const [shell = '', flag = '', script] = argv;
  const isScript = argv.length === 3 && /^(?:ba|z)?sh$/.test(basename(shell)) && /^-l?c$/.test(flag);
  return isScript ? ['\0script', flag, script!] : argv;
}

/** The same value with the members of objects in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, member]) => [key, sorted(member)]));
}
