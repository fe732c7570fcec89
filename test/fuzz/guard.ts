import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';

// The server under test runs real commands and changes real files. Whatever a mutation made of a message, it is sent
// only if it can do no harm; what cannot be understood here is judged by its letters.

/** The only command lines that may be started. */
const harmless: readonly (readonly string[])[] = [
  ['/bin/true'],
  ['/bin/echo', 'x'],
  ['/bin/cat'],
  ['/bin/sleep', '0.01'],
];

/** Methods that look but do not touch, or touch only what the fuzzer itself has opened. */
const passive = new Set([
  'initialize',
  'initialized',
  'environment/info',
  'environment/status',
  'process/read',
  'process/write',
  'process/closeStdin',
  'process/resize',
  'process/wait',
  'process/snapshot',
  'process/list',
  'process/stat',
  'net/write',
  'net/end',
  'net/close',
  'net/read',
  'net/ack',
  'net/list',
  'net/ports',
  'fs/readBlock',
  'fs/writeBlock',
  'fs/close',
  'fs/getMetadata',
  'fs/canonicalize',
  'fs/searchCancel',
  'fs/unwatch',
]);

export interface GuardOptions {
  /** The only folder in which files may be touched. */
  readonly folder: string;
  /** Ids of the processes the fuzzer has started. */
  readonly processIds: ReadonlySet<string>;
}

type Members = Readonly<Record<string, unknown>>;

/** Whether a message may be sent. */
export function isSafe(message: string | Uint8Array, options: GuardOptions): boolean {
  if (typeof message === 'string') return textIsSafe(message, options);
  // Bytes that are no UTF-8 are refused by every server, but that is for the server to show.
  const readings = ['latin1', 'utf-8'].map((encoding) => new TextDecoder(encoding).decode(message));
  return readings.every((text) => textIsSafe(text, options));
}

function textIsSafe(text: string, options: GuardOptions): boolean {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
    if (hasRepeatedKey(text)) return hasHarmlessLetters(text); // another parser might read it differently
    return typeof parsed !== 'object' || parsed === null || requestIsSafe(parsed as Members, options);
  } catch {
    return hasHarmlessLetters(text); // no JSON, or too deep to look through
  }
}

/** Whether nothing in the text could name a method that acts. */
function hasHarmlessLetters(text: string): boolean {
  return !/start|signal|terminate|open|fs|http|capabilit|config|\\/i.test(text);
}

function requestIsSafe({ method, params }: Members, { folder, processIds }: GuardOptions): boolean {
  if (typeof method !== 'string' || passive.has(method)) return true;
  const given = (typeof params === 'object' && params !== null ? params : {}) as Members;
  switch (method) {
    case 'process/start':
      return startIsSafe(given, folder);
    case 'process/signal':
    case 'process/terminate':
      return typeof given.processId !== 'string' || processIds.has(given.processId);
    case 'http/request':
      return typeof given.url !== 'string' || /^http:\/\/127\.0\.0\.1:\d+(\/|$)/.test(given.url);
    // Nothing on this machine is connected to; the server refuses an address that no setting lists.
    case 'net/open':
      return given.host === '192.0.2.1' && given.path === undefined;
    default:
      return strings(given).every((text) => isNoPath(text) || isInside(text, folder));
  }
}

function startIsSafe(params: Members, folder: string): boolean {
  const request = (params.request ?? params) as Members;
  return [params, request].every(({ argv, cwd }) => argv === undefined || (isHarmless(argv) && isInside(cwd, folder)));
}

function isHarmless(argv: unknown): boolean {
  return harmless.some((line) => JSON.stringify(line) === JSON.stringify(argv)) || JSON.stringify(argv) === '[]';
}

/** Without a colon it is no URI, without a slash in front no native path. */
const isNoPath = (text: string): boolean => !text.includes(':') && !text.trimStart().startsWith('/');

function isInside(path: unknown, folder: string): boolean {
  if (typeof path !== 'string') return true; // refused by every server
  try {
    const native = path.startsWith('/') ? posix.normalize(path) : fileURLToPath(path);
    return native === folder || native.startsWith(`${folder}/`);
  } catch {
    return false;
  }
}

/** Every string in a value, however deep. */
function strings(root: unknown): string[] {
  return values(root).filter((value) => typeof value === 'string');
}

function values(root: unknown): unknown[] {
  const all = [root];
  for (let at = 0; at < all.length; at++) {
    const value = all[at];
    if (typeof value === 'object' && value !== null) all.push(...Object.values(value));
  }
  return all;
}

/** More colons outside strings than members means that a parser had to choose. */
function hasRepeatedKey(text: string): boolean {
  const colons = text.replace(/"(?:[^"\\]|\\.)*"/g, '""').split(':').length - 1;
  const objects = values(JSON.parse(text)).filter((value) => typeof value === 'object' && !Array.isArray(value));
  return colons !== objects.reduce((members: number, value) => members + Object.keys(value ?? {}).length, 0);
}
