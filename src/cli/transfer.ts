import { posix } from 'node:path';
import { ConnectionLost } from '../rpc/index.ts';
import type { CopySide, Entry, ListedEntry, Staging } from './copy-side.ts';
import { ListedPaths } from './listed-path.ts';
import { messageOf } from './local-side.ts';

/** A path on one side, and what the user calls it. */
export interface Place {
  readonly side: CopySide;
  readonly path: string;
  readonly name: string;
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
  /** Things that are never copied, such as sockets. */
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
  readonly entry: E;
}

type FileCopy = Copy<Entry & { kind: 'file' }>;
type LinkCopy = Copy<Entry & { kind: 'link' }>;
type DirectoryCopy = Copy<Entry & { kind: 'directory' }>;

/**
 * Copies a file or a tree from one side to another. What fails is noted and the rest goes on; a lost connection or an abort ends
 * the transfer, and no unfinished file stays.
 */
export class Transfer {
  readonly #onProgress: (progress: Progress) => void;
  readonly #signal: AbortSignal;
  readonly #files: FileCopy[] = [];
  readonly #links: LinkCopy[] = [];
  /** Those that did not exist before: they get their modes when everything is in them. */
  readonly #created: DirectoryCopy[] = [];
  readonly #skipped: Remark[] = [];
  readonly #failures: Remark[] = [];
  readonly #done = { files: 0, directories: 0, links: 0, bytes: 0 };
  #progress: Progress = { doneBytes: 0, totalBytes: 0, doneFiles: 0, totalFiles: 0 };

  constructor(onProgress: (progress: Progress) => void, signal: AbortSignal) {
    this.#onProgress = onProgress;
    this.#signal = signal;
  }

  /** Rejects when a connection is lost, or with the reason of the signal. */
  async run(source: Place, destination: Place): Promise<TransferOutcome> {
    await this.#noting(source, async () => {
      const entry = await about(source, () => source.side.entryAt(source.path));
      if (!entry) throw new PlaceError(source, 'no such file or directory');
      const present = await about(destination, () => destination.side.entryAt(destination.path));
      const target = present?.kind === 'directory' ? below(destination, posix.basename(source.path)) : destination;
      await this.#copy({ source, destination: target, entry });
    });
    return { ...this.#done, skipped: this.#skipped, failures: this.#failures };
  }

  async #copy({ source, destination, entry }: Copy): Promise<void> {
    if (entry.kind === 'special') return void this.#skipped.push(special(source, entry.description));
    if (entry.kind === 'link') throw new PlaceError(source, 'is a link that leads nowhere');
    if (entry.kind === 'file') {
      this.#collect({ source, destination, entry });
      return await this.#place(parent(destination));
    }
    const listing = await this.#listing(source); // before anything is written: the destination may be inside the source
    const made = await about(destination, () => destination.side.createRoot(destination.path));
    this.#note({ source, destination, entry }, made);
    await this.#prepare(listing, source, destination);
    await this.#place(destination);
    for (const directory of this.#created.reverse()) await this.#setMode(directory);
  }

  async #listing(source: Place): Promise<ListedEntry[]> {
    const listing: ListedEntry[] = [];
    for await (const listed of this.#taken(source, source.side.list(source.path))) {
      if (listing.push(listed) > MOST_ENTRIES)
        throw new PlaceError(source, `has more than ${MOST_ENTRIES} entries: copy its parts`);
    }
    return listing;
  }

  /** Makes the directories and collects everything else. Links come last: nothing is ever written through one of them. */
  async #prepare(listing: readonly ListedEntry[], source: Place, destination: Place): Promise<void> {
    const paths = new ListedPaths();
    for (const listed of listing) {
      const entrySource = below(source, listed.path);
      await this.#noting(entrySource, async () => {
        const entry = usable(listed, paths);
        const copy = { source: entrySource, destination: below(destination, listed.path), entry } as Copy;
        if (await this.#prepareEntry(copy)) paths.enter(listed.path);
      });
    }
  }

  /** Whether it is a directory, ready to be filled. */
  async #prepareEntry({ source, destination, entry }: Copy): Promise<boolean> {
    if (entry.kind === 'special') this.#skipped.push(special(source, entry.description));
    else if (entry.kind === 'file') this.#collect({ source, destination, entry });
    else if (entry.kind === 'link') this.#links.push({ source, destination, entry });
    if (entry.kind !== 'directory') return false;
    const made = await about(destination, () => destination.side.createDirectory(destination.path));
    this.#note({ source, destination, entry }, made);
    return true;
  }

  #note(directory: DirectoryCopy, made: 'created' | 'existed'): void {
    this.#done.directories++;
    if (made === 'created') this.#created.push(directory);
  }

  #collect(file: FileCopy): void {
    this.#files.push(file);
    const { totalBytes, totalFiles } = this.#progress;
    this.#advance({ totalBytes: totalBytes + file.entry.size, totalFiles: totalFiles + 1 });
  }

  /** Files, then links, by way of a staging directory. */
  async #place(directory: Place): Promise<void> {
    if (this.#files.length === 0 && this.#links.length === 0) return;
    const staging = await about(directory, () => directory.side.openStaging(directory.path));
    try {
      await inParallel(this.#files, (file) => this.#noting(file.source, () => this.#placeFile(staging, file)));
      await inParallel(this.#links, (link) => this.#noting(link.source, () => this.#placeLink(staging, link)));
    } finally {
      await staging.close().catch((error) => this.#failed(directory, error));
    }
  }

  async #placeFile(staging: Staging, { source, destination, entry }: FileCopy): Promise<void> {
    const content = this.#counted(this.#taken(source, source.side.read(source.path, entry.size)));
    await about(destination, () => staging.placeFile(destination.path, entry.mode, content, entry.size));
    this.#done.files++;
    this.#advance({ doneFiles: this.#done.files });
  }

  async #placeLink(staging: Staging, { destination, entry }: LinkCopy): Promise<void> {
    this.#signal.throwIfAborted();
    await about(destination, () => staging.placeLink(destination.path, entry.target));
    this.#done.links++;
  }

  async #setMode({ source, destination, entry }: DirectoryCopy): Promise<void> {
    await this.#noting(source, () => about(destination, () => destination.side.setMode(destination.path, entry.mode)));
  }

  async *#counted(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const bytes of content) {
      this.#done.bytes += bytes.length;
      this.#advance({ doneBytes: this.#done.bytes });
      yield bytes;
    }
  }

  /** What a side gives, until the transfer is aborted: a server that is silent holds nothing up. */
  async *#taken<T>(place: Place, items: AsyncIterable<T>): AsyncGenerator<T> {
    const iterator = items[Symbol.asyncIterator]();
    try {
      for (;;) {
        const { done, value } = await about(place, () => unlessAborted(iterator.next(), this.#signal));
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

  async #noting(source: Place, work: () => Promise<void>): Promise<void> {
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
    } = placed(place, error);
    if (isConnectionLost(cause)) throw cause;
    this.#failures.push({ path: name, message: messageOf(cause) });
  }
}

/** A failure and where it happened. */
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

const placed = (place: Place, error: unknown): PlaceError =>
  error instanceof PlaceError ? error : new PlaceError(place, error as Error);

async function about<T>(place: Place, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw placed(place, error);
  }
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let stop = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
  });
  signal.addEventListener('abort', stop);
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function isConnectionLost(error: unknown): boolean {
  return error instanceof ConnectionLost || (error instanceof Error && isConnectionLost(error.cause));
}

function usable(listed: ListedEntry, paths: ListedPaths): Entry {
  const refusal = 'problem' in listed ? listed.problem : paths.refusal(listed.path);
  if (refusal !== undefined) throw new Error(refusal);
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

const MOST_ENTRIES = 1_000_000;
const AT_A_TIME = 16;

/** Works through the items, several at a time. After a failure none is begun, and those under way end first. */
async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (const item of waiting) await work(item);
  };
  const ends = await Promise.allSettled(Array.from({ length: AT_A_TIME }, worker));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
