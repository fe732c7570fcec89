import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { AccessToken } from './access-token.ts';
import { parseTokens, type TokenEntry } from './token-entries.ts';

/** A file of several thousand tokens; more is another file. */
const LARGEST_FILE_BYTES = 1024 * 1024;

/** Reads the tokens in a file that only its owner can read and change; an error names the file and the fix. */
export function readTokenFile(path: string): AccessToken[] {
  return parsed(path, readSafely(path, [process.geteuid!(), ROOT]));
}

/** Reads the tokens in a file for a person, who as root may look at that of any user. */
export function showTokenFile(path: string): AccessToken[] {
  return parsed(path, readSafely(path, editableOwners()));
}

/** The entries of a file as they stand there, besides the tokens that they mean. */
interface Content {
  readonly entries: readonly TokenEntry[];
  readonly tokens: readonly AccessToken[];
}

/**
 * Replaces the entries of a token file. A missing one has no entries, and is there with all of them or not at all. One that is there
 * is written where it is: running sandboxes mask that very file, and could read and change another in its place. Two programs
 * cannot do it at a time: a file with the same name and `.new` is the lock, and has the new entries meanwhile.
 */
export function updateTokenFile(path: string, change: (content: Content) => readonly TokenEntry[]): void {
  const next = `${path}.new`;
  using lock = create(next);
  using present = removeOnFailure(next, () => openIfThere(path));
  const text = removeOnFailure(next, () => {
    const changed = changedText(path, present, change);
    writeFileSync(lock.descriptor, changed);
    fsyncSync(lock.descriptor);
    return changed;
  });
  if (present) overwrite(path, present, text, next);
  else renameSync(next, path);
  rmSync(next, { force: true });
  syncDirectory(dirname(path));
}

function changedText(
  path: string,
  present: OpenFile | undefined,
  change: (content: Content) => readonly TokenEntry[],
): string {
  const old = present ? readFileSync(present.descriptor, 'utf8') : '{"tokens":[]}';
  const tokens = parsed(path, old);
  const file = JSON.parse(old) as { tokens: TokenEntry[] };
  const text = `${JSON.stringify({ ...file, tokens: change({ entries: file.tokens, tokens }) }, null, 2)}\n`;
  parsed(path, text);
  return text;
}

/** In one write, whose end covers all of the old text: readers find the old or the new entries. */
function overwrite(path: string, { descriptor, stats }: OpenFile, text: string, copy: string): void {
  const length = Buffer.byteLength(text);
  const bytes = Buffer.alloc(Math.max(length, stats.size), '\n');
  bytes.write(text);
  try {
    const written = writeSync(descriptor, bytes, 0, bytes.length, 0);
    if (written < bytes.length) throw new Error(`${written} of ${bytes.length} bytes were written`);
    ftruncateSync(descriptor, length);
    fsyncSync(descriptor);
  } catch (error) {
    throw new Error(`${path} may be incomplete: ${(error as Error).message}; the new tokens are in ${copy}`);
  }
}

function removeOnFailure<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
}

function parsed(path: string, text: string): AccessToken[] {
  try {
    return parseTokens(text);
  } catch (error) {
    throw new Error(`cannot use ${path}: ${(error as Error).message}`);
  }
}

function create(path: string): OpenFile {
  try {
    return new OpenFile(openSync(path, 'wx', 0o600));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new Error(`cannot write ${path}: there is no directory ${dirname(path)}; create it`);
    if (code !== 'EEXIST') throw new Error(`cannot write ${path}: ${code}`);
    throw new Error(`${path} exists: another program is changing the tokens; if none is, remove that file`);
  }
}

function openIfThere(path: string): OpenFile | undefined {
  try {
    return openSafely(path, constants.O_RDWR, editableOwners());
  } catch (error) {
    if (((error as Error).cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return undefined;
    throw error;
  }
}

const ROOT = 0;

/** The owners whose files this user may change; all of them for root. */
const editableOwners = (): readonly number[] | undefined => {
  const own = process.geteuid!();
  return own === ROOT ? undefined : [own];
};

function readSafely(path: string, owners: readonly number[] | undefined): string {
  using file = openSafely(path, constants.O_RDONLY, owners);
  return readFileSync(file.descriptor, 'utf8');
}

function openSafely(path: string, access: number, owners: readonly number[] | undefined): OpenFile {
  const file = new OpenFile(open(path, access));
  const complaint = complaintAbout(file.stats, path, owners);
  if (complaint === undefined) return file;
  file[Symbol.dispose]();
  throw new Error(`cannot use ${path}: ${complaint}`);
}

/** What is wrong with a file that cannot be opened, for a person. */
const OPEN_FAULTS: Readonly<Record<string, string>> = {
  ELOOP: 'it is a symbolic link; name the file that it leads to',
  ENOENT: 'there is no such file; `exec-server token add` makes it',
  EACCES: 'this user may not open it (EACCES)',
};

function open(path: string, access: number): number {
  try {
    // Nonblocking, since opening a pipe would wait for its other end.
    return openSync(path, access | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const reason = OPEN_FAULTS[code ?? ''] ?? code;
    throw new Error(`cannot use ${path}: ${reason}`, { cause });
  }
}

function complaintAbout(stats: Stats, path: string, owners: readonly number[] | undefined): string | undefined {
  if (!stats.isFile()) return 'it is not a regular file';
  if (owners?.includes(stats.uid) === false) {
    return `it belongs to user ${stats.uid}; fix: chown ${process.geteuid!()} ${path}`;
  }
  if (stats.mode & 0o077) {
    const mode = (stats.mode & 0o777).toString(8).padStart(4, '0');
    return `others can read or change it (mode ${mode}); fix: chmod 600 ${path}`;
  }
  if (stats.size > LARGEST_FILE_BYTES) return `it has more than ${LARGEST_FILE_BYTES} bytes`;
  return undefined;
}

function syncDirectory(path: string): void {
  using directory = new OpenFile(openSync(path, 'r'));
  fsyncSync(directory.descriptor);
}

class OpenFile implements Disposable {
  readonly descriptor: number;
  readonly stats: Stats;

  constructor(descriptor: number) {
    this.descriptor = descriptor;
    this.stats = fstatSync(descriptor);
  }

  [Symbol.dispose](): void {
    closeSync(this.descriptor);
  }
}
