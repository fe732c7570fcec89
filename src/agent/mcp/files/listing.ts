import { posix } from 'node:path';
import { type ExecutorFileSystem, type FileOptions, PathUri } from '../../../protocol/index.ts';
import { limits } from '../limits.ts';

export interface ListOptions extends FileOptions {
  readonly depth: number;
  readonly limit: number;
}

export interface Listing {
  /** Paths below the directory, each directory before its entries. */
  readonly entries: readonly string[];
  readonly truncated: boolean;
}

/** Lists a directory and the directories below it; one of those that cannot be read is listed without its entries. */
export async function listDirectory(files: ExecutorFileSystem, path: string, options: ListOptions): Promise<Listing> {
  const { depth, limit, ...rest } = options;
  const most = Math.min(limit, limits.entriesListed);
  const entries: string[] = [];

  /** False once the limit is reached. */
  const list = async (below: string, levels: number): Promise<boolean> => {
    const found = await files.readDirectory(PathUri.fromNative(posix.join(path, below)), rest);
    for (const { fileName, isDirectory } of found.sort((one, other) => order(one.fileName, other.fileName))) {
      if (entries.length === most) return false;
      const name = posix.join(below, fileName);
      entries.push(isDirectory ? `${name}/` : name);
      if (isDirectory && levels > 1 && !(await list(name, levels - 1).catch(() => true))) return false; // unreadable directories have no entries here
    }
    return true;
  };

  const isWhole = await list('', Math.min(depth, limits.depthListed));
  return { entries, truncated: !isWhole };
}

const order = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
