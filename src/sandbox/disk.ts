// What a plan asks about the disk. Answers are those of the moment: whoever may change the disk in between can only
// change what the sandbox lets them reach.
import {
  accessSync,
  constants,
  lstatSync,
  opendirSync,
  readFileSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { posix } from 'node:path';

/** The thing at a path, not followed; undefined when it is missing or out of our sight. */
export function look(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // what we may not see, the command may not either
  }
}

/** The path without symlinks; undefined when nothing is there. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined; // missing, or a loop of links
  }
}

export function isEmptyDirectory(path: string): boolean {
  try {
    const directory = opendirSync(path);
    try {
      return directory.readSync() === null;
    } finally {
      directory.closeSync();
    }
  } catch {
    return false; // not a directory, or not readable: then it is not ours either
  }
}

/**
 * Whether a command of ours, which has no capabilities, could create something in a directory. A server that is root
 * has capabilities the command lacks, so that asking the kernel would give the wrong answer.
 */
export function couldCreateIn(directory: string): boolean {
  if (process.geteuid?.() === 0) return allowedByMode(statSync(directory));
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function allowedByMode({ uid, gid, mode }: Stats): boolean {
  if (uid === process.geteuid?.()) return true; // an owner may always give itself the right
  const inGroup = gid === process.getegid?.() || process.getgroups?.().includes(gid);
  return (mode & (inGroup ? constants.S_IWGRP : constants.S_IWOTH)) !== 0;
}

const LONGEST_GIT_FILE = 4096;

/** The directory a `.git` file points to. */
export function gitDirectoryOf(gitFile: string): string | undefined {
  const found = look(gitFile);
  if (!found?.isFile() || found.size > LONGEST_GIT_FILE) return undefined;
  try {
    const target = /^gitdir:\s*(.+?)\s*$/m.exec(readFileSync(gitFile, 'utf8'))?.[1];
    return target === undefined ? undefined : posix.resolve(posix.dirname(gitFile), target);
  } catch {
    return undefined; // not readable for us, so of no use to git either
  }
}
