/** A file, a directory or a link. Sizes are in bytes, modes are permission bits. */
export type Entry =
  | { readonly kind: 'file'; readonly size: number; readonly mode: number }
  | { readonly kind: 'directory'; readonly mode: number }
  | { readonly kind: 'link'; readonly target: string }
  /** Cannot be copied, such as a device; with its kind in words. */
  | { readonly kind: 'special'; readonly description: string };

/** An entry below the directory that was listed, or a reason why it cannot be told. */
export type ListedEntry =
  | { readonly path: string; readonly entry: Entry }
  | { readonly path: string; readonly problem: string };

/** One side of a copy: the files of this machine, or those of a server. Paths are absolute, unless they are said to be listed ones. */
export interface CopySide {
  /** Follows links; undefined where nothing exists. */
  entryAt(path: string): Promise<Entry | undefined>;
  /** Everything below a directory, parents before their children, by paths relative to it. Links are told, not followed. */
  list(directory: string): AsyncIterable<ListedEntry>;
  read(path: string, size: number): AsyncIterable<Uint8Array>;
  /** Makes a directory and those above it. */
  createRoot(path: string): Promise<'created' | 'existed'>;
  /** The directory in which everything is written. */
  openTree(directory: string): Promise<DestinationTree>;
}

/**
 * A directory that is filled. Names are relative to it, and no symbolic link in it is followed. Files are written under temporary
 * names in a private directory and then moved to their place, so that a place holds the old content or the new.
 */
export interface DestinationTree {
  /** The private directory. */
  readonly staging: string;
  /** Makes one directory in one that exists; a link or a file in its place is an error. */
  createDirectory(name: string): Promise<'created' | 'existed'>;
  /** Sets the mode of a directory; an empty name is the tree itself. */
  setMode(name: string, mode: number): Promise<void>;
  placeFile(name: string, mode: number, content: AsyncIterable<Uint8Array>, size: number): Promise<void>;
  placeLink(name: string, target: string): Promise<void>;
  /** Removes the private directory: nothing can be placed any more. */
  clear(): Promise<void>;
  /** Lets go of the tree, and clears it if that has not been done. */
  close(): Promise<void>;
}

/** Why something that is in the way stays there. */
export const inTheWay = {
  link: 'is a symbolic link where a directory is to be copied; remove it',
  file: 'is a file where a directory is to be copied; remove it',
  directory: 'is a directory where a file is to be copied; remove it',
  /** A directory was there before, and no longer is. */
  swapped: 'refused: a link or a file is on the way',
} as const;

/** The name of a staging directory: hidden, and free. */
export const stagingName = (): string => `.exec-server-cp-${crypto.randomUUID().slice(0, 13)}`;

/** The content of larger files is moved block by block. */
export const AT_ONCE_BYTES = 512 * 1024;

const FORMAT = 0o170000;
const PERMISSIONS = 0o777;

/** The entry that a mode of `stat` tells of. Set-user-id and its like are not permissions and are left out. */
export function entryOf(mode: number, size: number, target: () => string): Entry {
  switch (mode & FORMAT) {
    case 0o100000:
      return { kind: 'file', size, mode: mode & PERMISSIONS };
    case 0o040000:
      return { kind: 'directory', mode: mode & PERMISSIONS };
    case 0o120000:
      return { kind: 'link', target: target() };
    default:
      return { kind: 'special', description: specials.get(mode & FORMAT) ?? 'neither a file nor a directory' };
  }
}

const specials: ReadonlyMap<number, string> = new Map([
  [0o010000, 'a named pipe'],
  [0o140000, 'a socket'],
  [0o020000, 'a character device'],
  [0o060000, 'a block device'],
]);
