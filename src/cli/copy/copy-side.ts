/** A file, a directory or a link. Sizes are in bytes, modes are permission bits. */
export type Entry =
  | { readonly kind: 'file'; readonly size: number; readonly mode: number }
  | { readonly kind: 'directory'; readonly mode: number }
  | { readonly kind: 'link'; readonly target: string }
  /** Cannot be copied, such as a device. */
  | { readonly kind: 'special'; readonly description: string };

/** An entry below the directory that was listed, or the reason why it cannot be described. */
export type ListedEntry =
  | { readonly path: string; readonly entry: Entry }
  | { readonly path: string; readonly problem: string };

/** One side of a copy: the files of this machine, or those of a server. Paths are absolute, but for those of listed entries. */
export interface CopySide {
  /** Follows links; undefined where nothing exists. */
  entryAt(path: string): Promise<Entry | undefined>;
  /** Everything below a directory, parents before their children, by paths relative to it. Links are listed, not followed. */
  list(directory: string): AsyncIterable<ListedEntry>;
  read(path: string, size: number): AsyncIterable<Uint8Array>;
  /** Makes a directory and those above it. */
  createRoot(path: string): Promise<'created' | 'existed'>;
  /** Opens the directory into which everything is written. */
  openTree(directory: string): Promise<DestinationTree>;
}

/**
 * A directory that is being filled. Names are relative to it, and no symbolic link in it is followed. Files are written under temporary
 * names in a private directory and then renamed, so that a path has either the old content or the new.
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
  /** Closes the tree, after clearing it if that has not been done. */
  close(): Promise<void>;
}

/** Errors about an existing entry that a copy does not replace. */
export const conflicts = {
  link: 'is a symbolic link where a directory is to be copied; remove it',
  file: 'is a file where a directory is to be copied; remove it',
  directory: 'is a directory where a file is to be copied; remove it',
  /** A directory of the path has been replaced since it was created. */
  swapped: 'refused: a link or a file is on the way',
} as const;

/** A name for a staging directory: hidden, and not in use. */
export const stagingName = (): string => `.exec-server-cp-${crypto.randomUUID().slice(0, 13)}`;

/** Files up to this size are moved in one piece, larger ones in blocks. */
export const BLOCK_BYTES = 512 * 1024;

const FORMAT = 0o170000;
const PERMISSIONS = 0o777;

/** The entry that a mode of `stat` describes. The set-user-id, set-group-id and sticky bits are left out. */
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
