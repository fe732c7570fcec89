import { setMaxListeners } from 'node:events';
import { posix } from 'node:path';
import { abortable } from '../../base/index.ts';
import { ConnectionLost } from '../../rpc/index.ts';
import type { CopySide, DestinationTree, Entry, ListedEntry } from './copy-side.ts';
import { ListedPaths } from './listed-paths.ts';
import { reasonOf } from './reason.ts';

/** A path on one side, and the name the user gave it. */
export interface Place {
  readonly side: CopySide;
  readonly path: string;
  readonly name: string;
  /** The name ends with a slash, so it must be a directory. */
  readonly asDirectory?: boolean;
}

export interface Progress {
  readonly doneBytes: number;
  readonly totalBytes: number;
  readonly doneFiles: number;
  readonly totalFiles: number;
}

export interface TransferOutcome {
  readonly files: number;
  readonly directories: number;
  readonly links: number;
  readonly bytes: number;
  /** Entries that are never copied, such as sockets. */
  readonly skipped: readonly Remark[];
  readonly failures: readonly Remark[];
}

export interface Remark {
  readonly path: string;
  readonly message: string;
}

interface Copy<E extends Entry = Entry> {
  readonly source: Place;
  readonly destination: Place;
  /** The path of the destination within its tree. */
  readonly name: string;
  readonly entry: E;
}

type FileCopy = Copy<Entry & { kind: 'file' }>;
type LinkCopy = Copy<Entry & { kind: 'link' }>;
type DirectoryCopy = Copy<Entry & { kind: 'directory' }>;

/**
 * Copies a file or a tree from one side to another. A failure of one entry is recorded and the others are copied; a lost connection
 * or an abort ends the transfer, and no unfinished file stays.
 */
export class Transfer {
  readonly #onProgress: (progress: Progress) => void;
  readonly #signal: AbortSignal;
  readonly #files: FileCopy[] = [];
  readonly #links: LinkCopy[] = [];
  /** Directories that did not exist before: they get their modes when everything is in them. */
  readonly #created: DirectoryCopy[] = [];
  readonly #skipped: Remark[] = [];
  readonly #failures: Remark[] = [];
  readonly #done = { files: 0, directories: 0, links: 0, bytes: 0 };
  #progress: Progress = { doneBytes: 0, totalBytes: 0, doneFiles: 0, totalFiles: 0 };

  constructor(onProgress: (progress: Progress) => void, signal: AbortSignal) {
    this.#onProgress = onProgress;
    this.#signal = signal;
    setMaxListeners(AT_A_TIME + 1, signal); // Node warns of more than 10
  }

  /** Rejects when a connection is lost, or with the reason of the signal. */
  async run(source: Place, destination: Place): Promise<TransferOutcome> {
    await this.#recordingFailure(source, async () => {
      const entry = await withPlace(source, () => source.side.entryAt(source.path));
      if (!entry) throw new PlaceError(source, 'no such file or directory');
      if (source.asDirectory && entry.kind !== 'directory') throw new PlaceError(source, 'not a directory');
      const present = await withPlace(destination, () => destination.side.entryAt(destination.path));
      if (destination.asDirectory && present?.kind !== 'directory' && entry.kind !== 'directory') {
        const why = present ? 'not a directory' : 'no such directory; make it, or leave out the / at the end';
        throw new PlaceError(destination, why);
      }
      const target = present?.kind === 'directory' ? below(destination, posix.basename(source.path)) : destination;
      await this.#copy(source, target, entry);
    });
    return { ...this.#done, skipped: this.#skipped, failures: this.#failures };
  }

  async #copy(source: Place, destination: Place, entry: Entry): Promise<void> {
    if (entry.kind === 'special') return void this.#skipped.push(special(source, entry.description));
    if (entry.kind === 'link') throw new PlaceError(source, 'is a symbolic link to a missing file');
    if (entry.kind === 'file') {
      this.#addFile({ source, destination, name: posix.basename(destination.path), entry });
      return await this.#inTree(parent(destination), (tree) => this.#place(tree));
    }
    const listing = await this.#listing(source); // before anything is written: the destination may be inside the source
    const made = await withPlace(destination, () => destination.side.createRoot(destination.path));
    this.#recordDirectory({ source, destination, name: '', entry }, made);
    await this.#inTree(destination, async (tree) => {
      await this.#prepare(tree, listing, source, destination);
      await this.#place(tree);
      await withPlace(destination, () => tree.clear()); // before the directory around it may become read-only
      for (const directory of this.#created.reverse()) await this.#setMode(tree, directory);
    });
  }

  /** Fills a tree and removes unfinished files. If the server is lost they cannot be removed; then the error says where they are. */
  async #inTree(directory: Place, fill: (tree: DestinationTree) => Promise<void>): Promise<void> {
    const tree = await withPlace(directory, () => directory.side.openTree(directory.path));
    try {
      await fill(tree);
    } finally {
      await tree.close().catch((error) => {
        if (!isConnectionLost(error)) return this.#failed(directory, error);
        const left = `${directory.name}/${posix.basename(tree.staging)}`;
        throw new Error(`${(error as Error).message}; unfinished files may be left in ${left}: remove it`, {
          cause: error,
        });
      });
    }
  }

  async #listing(source: Place): Promise<ListedEntry[]> {
    const listing: ListedEntry[] = [];
    for await (const listed of this.#unlessAborted(source, source.side.list(source.path))) {
      if (listing.push(listed) > MOST_ENTRIES)
        throw new PlaceError(source, `has more than ${MOST_ENTRIES} entries: copy its parts`);
    }
    return listing;
  }

  /** Makes the directories and collects files and links. Links are made last, so that nothing is written through them. */
  async #prepare(
    tree: DestinationTree,
    listing: readonly ListedEntry[],
    source: Place,
    destination: Place,
  ): Promise<void> {
    const paths = new ListedPaths();
    for (const listed of listing) {
      const entrySource = below(source, listed.path);
      if ('entry' in listed && listed.entry.kind === 'directory') paths.list(listed.path);
      await this.#recordingFailure(entrySource, async () => {
        const entry = requireEntry(listed, paths);
        const copy = { source: entrySource, destination: below(destination, listed.path), name: listed.path, entry };
        if (await this.#prepareEntry(tree, copy)) paths.enter(listed.path);
      });
    }
  }

  /** Gives true for a directory, which is ready to be filled. */
  async #prepareEntry(tree: DestinationTree, { entry, ...copy }: Copy): Promise<boolean> {
    if (entry.kind === 'special') this.#skipped.push(special(copy.source, entry.description));
    else if (entry.kind === 'file') this.#addFile({ ...copy, entry });
    else if (entry.kind === 'link') this.#links.push({ ...copy, entry });
    if (entry.kind !== 'directory') return false;
    const made = await withPlace(copy.destination, () => tree.createDirectory(copy.name));
    this.#recordDirectory({ ...copy, entry }, made);
    return true;
  }

  #recordDirectory(directory: DirectoryCopy, made: 'created' | 'existed'): void {
    this.#done.directories++;
    if (made === 'created') this.#created.push(directory);
  }

  #addFile(file: FileCopy): void {
    this.#files.push(file);
    const { totalBytes, totalFiles } = this.#progress;
    this.#advance({ totalBytes: totalBytes + file.entry.size, totalFiles: totalFiles + 1 });
  }

  async #place(tree: DestinationTree): Promise<void> {
    await inParallel(this.#files, (file) => this.#recordingFailure(file.source, () => this.#placeFile(tree, file)));
    await inParallel(this.#links, (link) => this.#recordingFailure(link.source, () => this.#placeLink(tree, link)));
  }

  async #placeFile(tree: DestinationTree, { source, destination, name, entry }: FileCopy): Promise<void> {
    const content = this.#counted(this.#unlessAborted(source, source.side.read(source.path, entry.size)));
    await withPlace(destination, () => tree.placeFile(name, entry.mode, content, entry.size));
    this.#done.files++;
    this.#advance({ doneFiles: this.#done.files });
  }

  async #placeLink(tree: DestinationTree, { destination, name, entry }: LinkCopy): Promise<void> {
    this.#signal.throwIfAborted();
    await withPlace(destination, () => tree.placeLink(name, entry.target));
    this.#done.links++;
  }

  async #setMode(tree: DestinationTree, { source, destination, name, entry }: DirectoryCopy): Promise<void> {
    await this.#recordingFailure(source, () => withPlace(destination, () => tree.setMode(name, entry.mode)));
  }

  async *#counted(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const bytes of content) {
      this.#done.bytes += bytes.length;
      this.#advance({ doneBytes: this.#done.bytes });
      yield bytes;
    }
  }

  /** The items of a side. An abort ends the iteration, even while the side does not answer. */
  async *#unlessAborted<T>(place: Place, items: AsyncIterable<T>): AsyncGenerator<T> {
    const iterator = items[Symbol.asyncIterator]();
    try {
      for (;;) {
        const { done, value } = await withPlace(place, () => abortable(iterator.next(), this.#signal));
        if (done) return;
        yield value;
      }
    } finally {
      if (!this.#signal.aborted) await iterator.return?.();
    }
  }

  #advance(change: Partial<Progress>): void {
    this.#progress = { ...this.#progress, ...change };
    this.#onProgress(this.#progress);
  }

  /** Records the failure of `work`, unless the transfer is over. */
  async #recordingFailure(source: Place, work: () => Promise<void>): Promise<void> {
    this.#signal.throwIfAborted();
    try {
      await work();
    } catch (error) {
      this.#signal.throwIfAborted();
      this.#failed(source, error);
    }
  }

  #failed(place: Place, error: unknown): void {
    const {
      cause,
      place: { name },
    } = placeErrorOf(place, error);
    if (isConnectionLost(cause)) throw cause;
    this.#failures.push({ path: name, message: reasonOf(cause) });
  }
}

/** A failure, with the place where it happened. */
class PlaceError extends Error {
  readonly place: Place;
  override readonly cause: Error;

  constructor(place: Place, cause: Error | string) {
    const error = typeof cause === 'string' ? new Error(cause) : cause;
    super(error.message);
    this.place = place;
    this.cause = error;
  }
}

const placeErrorOf = (place: Place, error: unknown): PlaceError =>
  error instanceof PlaceError ? error : new PlaceError(place, error as Error);

/** Adds the place to an error of `work`. */
async function withPlace<T>(place: Place, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw placeErrorOf(place, error);
  }
}

function isConnectionLost(error: unknown): boolean {
  return error instanceof ConnectionLost || (error instanceof Error && isConnectionLost(error.cause));
}

function requireEntry(listed: ListedEntry, paths: ListedPaths): Entry {
  const problem = 'problem' in listed ? listed.problem : paths.problemOf(listed.path);
  if (problem !== undefined) throw new Error(problem);
  return (listed as ListedEntry & { entry: Entry }).entry;
}

const special = ({ name }: Place, description: string): Remark => ({ path: name, message: `is ${description}` });

const below = ({ side, path, name }: Place, listed: string): Place => ({
  side,
  path: `${path}/${listed}`,
  name: `${name.replace(/\/+$/, '')}/${listed}`,
});

const parent = ({ side, path, name }: Place): Place => ({
  side,
  path: posix.dirname(path),
  name: name.includes('/') ? posix.dirname(name) : '.',
});

/** Bounds the memory of the listing, which is kept as a whole. */
const MOST_ENTRIES = 1_000_000;
/** Small files on a server mostly wait for round trips, so several are copied at a time. */
const AT_A_TIME = 32;

/** Works through the items, several at a time. After a failure no other item is begun; rejects when those under way have ended. */
async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (const item of waiting) await work(item);
  };
  const ends = await Promise.allSettled(Array.from({ length: AT_A_TIME }, worker));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
