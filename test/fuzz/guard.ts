import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';

// The server under test runs real commands and changes real files. Whatever a mutation made of a message, it is sent
// only if it can do no harm; what cannot be understood here is judged by its letters alone.

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
  'fs/readBlock',
  'fs/writeBlock',
  'fs/close',
  'fs/getMetadata',
  'fs/canonicalize',
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
  const text = typeof message === 'string' ? message : new TextDecoder('latin1').decode(message);
  const parsed = parse(text);
  // What is no JSON is no request to anyone. A repeated key might be read differently by another parser.
  if (parsed === undefined) return !/process\/start|fs\/|http\/|capabilit|environmentConfig/.test(text);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return true;
  const { method, params } = parsed as Members;
  if (typeof method !== 'string' || passive.has(method)) return !hasRepeatedKey(text);
  if (hasRepeatedKey(text)) return false;
  const given = (typeof params === 'object' && params !== null ? params : {}) as Members;
  switch (method) {
    case 'process/start':
      return startIsSafe(given, options.folder);
    case 'process/signal':
    case 'process/terminate':
      return typeof given.processId !== 'string' || options.processIds.has(given.processId);
    case 'http/request':
      return typeof given.url !== 'string' || /^http:\/\/127\.0\.0\.1:\d+(\/|$)/.test(given.url);
    default:
      return method.startsWith('fs/') || method.startsWith('capabilit') || method.startsWith('environmentConfig')
        ? pathsAreSafe(given, options.folder)
        : true;
  }
}

function startIsSafe(params: Members, folder: string): boolean {
  const request = (params.request ?? params) as Members;
  return [params, request].every(({ argv, cwd }) => argv === undefined || (isHarmless(argv) && isInside(cwd, folder)));
}

function isHarmless(argv: unknown): boolean {
  return harmless.some((line) => JSON.stringify(line) === JSON.stringify(argv)) || JSON.stringify(argv) === '[]';
}

/** Every string anywhere in the parameters that could be a path must lie inside the folder. */
function pathsAreSafe(value: unknown, folder: string): boolean {
  if (typeof value === 'string') return !/^\s*(\/|file:)/i.test(value) || isInside(value, folder);
  if (typeof value !== 'object' || value === null) return true;
  return Object.values(value).every((inner) => pathsAreSafe(inner, folder));
}

function isInside(path: unknown, folder: string): boolean {
  if (typeof path !== 'string') return true; // refused by every server
  try {
    const native = path.startsWith('/') ? posix.normalize(path) : fileURLToPath(path);
    return native === folder || native.startsWith(`${folder}/`);
  } catch {
    return false;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** More colons outside strings than members means that a parser had to choose. */
function hasRepeatedKey(text: string): boolean {
  const colons = text.replace(/"(?:[^"\\]|\\.)*"/g, '""').split(':').length - 1;
  let members = 0;
  const open: unknown[] = [JSON.parse(text)];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    if (!Array.isArray(value)) members += Object.keys(value).length;
    for (const inner of Object.values(value)) open.push(inner);
  }
  return colons !== members;
}
