import { posix } from 'node:path';
import { type ExecutorFileSystem, type FileOptions, PathUri } from '../../protocol/index.ts';

export const MOST_ENTRIES = 1_000;
export const MOST_DEPTH = 8;

export interface ListOptions extends FileOptions {
  readonly depth: number;
  readonly limit: number;
}

export interface Listing {
  /** Paths below the directory, each directory before what is in it. */
  readonly entries: readonly string[];
  readonly truncated: boolean;
}

/** Lists a directory and those below it; one that cannot be read is listed without its entries. */
export async function listDirectory(files: ExecutorFileSystem, path: string, options: ListOptions): Promise<Listing> {
  const { depth, limit, ...rest } = options;
  const most = Math.min(limit, MOST_ENTRIES);
  const entries: string[] = [];

  /** False once the limit is reached. */
  const list = async (below: string, levels: number): Promise<boolean> => {
    const found = await files.readDirectory(PathUri.fromNative(posix.join(path, below)), rest);
    for (const { fileName, isDirectory } of found.sort((one, other) => order(one.fileName, other.fileName))) {
      if (entries.length === most) return false;
      const name = posix.join(below, fileName);
      entries.push(isDirectory ? `${name}/` : name);
      if (isDirectory && levels > 1 && !(await list(name, levels - 1).catch(() => true))) return false; // closed to us
    }
    return true;
  };

  const isWhole = await list('', Math.min(depth, MOST_DEPTH));
  return { entries, truncated: !isWhole };
}

const order = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
