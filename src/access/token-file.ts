import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { AccessToken } from './access-token.ts';
import { parseTokens, type TokenEntry } from './token-entries.ts';

/** A file of several thousand tokens; more is another file. */
const LARGEST_FILE_BYTES = 1024 * 1024;

/** Reads the tokens in a file that nobody else can read or change; an error names the file and the fix. */
export function readTokenFile(path: string): AccessToken[] {
  return parsed(path, readSafely(path, [process.geteuid!(), ROOT]).text);
}

/** Reads the tokens in a file for a person, who as root may look at that of any user. */
export function showTokenFile(path: string): AccessToken[] {
  return parsed(path, readSafely(path, editableOwners()).text);
}

/** The entries of a file as they stand there, besides the tokens that they mean. */
interface Content {
  readonly entries: readonly TokenEntry[];
  readonly tokens: readonly AccessToken[];
}

/**
 * Replaces the entries of a token file in one step: readers find the old or the new ones, also after a crash. A missing file has
 * no entries. Two programs cannot do it at a time: the new file, whose name is that of the old one with `.new`, is the lock.
 */
export function updateTokenFile(path: string, change: (content: Content) => readonly TokenEntry[]): void {
  const next = `${path}.new`;
  const descriptor = create(next);
  try {
    const present = readIfThere(path);
    const file = present ? (JSON.parse(present.text) as { tokens: TokenEntry[] }) : { tokens: [] };
    const tokens = present ? parsed(path, present.text) : [];
    const text = `${JSON.stringify({ ...file, tokens: change({ entries: file.tokens, tokens }) }, null, 2)}\n`;
    parsed(path, text);
    writeFileSync(descriptor, text);
    fchmodSync(descriptor, 0o600);
    if (present && present.stats.uid !== process.geteuid!())
      fchownSync(descriptor, present.stats.uid, present.stats.gid);
    fsyncSync(descriptor);
    renameSync(next, path);
    syncDirectory(dirname(path));
  } catch (error) {
    rmSync(next, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

function parsed(path: string, text: string): AccessToken[] {
  try {
    return parseTokens(text);
  } catch (error) {
    throw new Error(`cannot use ${path}: ${(error as Error).message}`);
  }
}

function create(path: string): number {
  try {
    return openSync(path, 'wx', 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST') throw new Error(`cannot write ${path}: ${code}`);
    throw new Error(`${path} exists: another program is changing the tokens; if none is, remove that file`);
  }
}

function readIfThere(path: string): { text: string; stats: Stats } | undefined {
  try {
    return readSafely(path, editableOwners());
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

function readSafely(path: string, owners: readonly number[] | undefined): { text: string; stats: Stats } {
  const descriptor = open(path);
  try {
    const stats = fstatSync(descriptor);
    const complaint = complaintAbout(stats, path, owners);
    if (complaint !== undefined) throw new Error(`cannot use ${path}: ${complaint}`);
    return { text: readFileSync(descriptor, 'utf8'), stats };
  } finally {
    closeSync(descriptor);
  }
}

function open(path: string): number {
  try {
    // Nonblocking, since opening a pipe would wait for its other end.
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const reason = code === 'ELOOP' ? 'it is a symbolic link; name the file that it leads to' : code;
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
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
