import { type BigIntStats, constants } from 'node:fs';
import { lstat, open, readdir, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { extname, join } from 'node:path';
import type { RulesFile } from './load-policy.ts';

/** Rules are written by hand or one answer at a time; anything larger is not rules. */
export const LARGEST_RULES_FILE = 1024 * 1024;

/** The device number of `/dev/null` on Linux, a common way to name no rules at all. */
const NULL_DEVICE = 0x103;

/** The directory of a user's own rules: `rules` in `EXEC_SERVER_HOME`, else in `CODEX_HOME`, else in `~/.codex`. */
export function userRulesFolder(env: NodeJS.ProcessEnv): string {
  return join(env.EXEC_SERVER_HOME || env.CODEX_HOME || join(env.HOME || homedir(), '.codex'), 'rules');
}

/** A rules file on disk; the stamp changes whenever its content may have. */
export interface StampedFile {
  readonly path: string;
  readonly stamp: string;
}

/** The `*.rules` files of folders, in the order of the folders and sorted within each; links are left out. */
export async function findRulesFiles(folders: readonly string[]): Promise<StampedFile[]> {
  return (await Promise.all(folders.map(filesIn))).flat();
}

/** The stamp of a named file, through links; `none` for a missing file, whose error comes when it is read. */
export async function stampOf(path: string): Promise<StampedFile> {
  const status = await stat(path, { bigint: true }).catch(() => undefined); // reading the file fails with the reason
  return { path, stamp: status ? stamp(status) : 'none' };
}

/** Reads a file; the error names it. */
export async function readRules({ path }: StampedFile): Promise<RulesFile> {
  try {
    return await read(path);
  } catch (error) {
    throw new Error(`cannot read the rules file ${path}: ${(error as Error).message}`, { cause: error });
  }
}

async function read(path: string): Promise<RulesFile> {
  await using handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK); // does not wait for a writer of a named pipe
  const status = await handle.stat();
  const isNullDevice = status.isCharacterDevice() && status.rdev === NULL_DEVICE;
  if (!status.isFile() && !isNullDevice) throw new Error('it is not a regular file');
  if (status.size > LARGEST_RULES_FILE) throw new Error(`it is larger than ${LARGEST_RULES_FILE} bytes`);
  const bytes = await handle.readFile();
  // A byte order mark stays: the rules language refuses it, and says so.
  return { name: path, text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
}

async function filesIn(folder: string): Promise<StampedFile[]> {
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new Error(`cannot read the folder of rules ${folder}: ${(error as Error).message}`, { cause: error });
  }
  const paths = names.filter((name) => extname(name) === '.rules').sort();
  const found = await Promise.all(paths.map((name) => stampIfFile(join(folder, name))));
  return found.filter((file) => file !== undefined);
}

async function stampIfFile(path: string): Promise<StampedFile | undefined> {
  try {
    const stats = await lstat(path, { bigint: true });
    return stats.isFile() ? { path, stamp: stamp(stats) } : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined; // removed since it was listed
    throw error;
  }
}

function stamp({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${ino}:${size}:${mtimeNs}:${ctimeNs}`;
}
