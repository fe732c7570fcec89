import { posix } from 'node:path';
import { ExecError, type ExecutorFileSystem, PathUri } from '../protocol/index.ts';

/** A path in a filesystem, and what the user calls it. */
export interface Place {
  readonly files: ExecutorFileSystem;
  readonly path: PathUri;
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
  readonly bytes: number;
  /** Links to directories, which are not followed. */
  readonly skipped: readonly string[];
  readonly failures: readonly { readonly path: string; readonly message: string }[];
}

interface FileToCopy {
  readonly source: Place;
  readonly destination: Place;
  readonly size: number;
}

/** Copies a file or a tree from one filesystem to another, wherever they are. What fails is noted, the rest goes on. */
export class Transfer {
  readonly #onProgress: (progress: Progress) => void;
  readonly #pending: FileToCopy[] = [];
  readonly #skipped: string[] = [];
  readonly #failures: { path: string; message: string }[] = [];
  #directories = 0;
  #files = 0;
  #bytes = 0;
  #progress: Progress = { doneBytes: 0, totalBytes: 0, doneFiles: 0, totalFiles: 0 };

  constructor(onProgress: (progress: Progress) => void) {
    this.#onProgress = onProgress;
  }

  async run(source: Place, destination: Place): Promise<TransferOutcome> {
    await this.#noting(source, async () => {
      const target = (await isDirectory(destination)) ? below(destination, baseName(source)) : destination;
      await this.#prepare(source, target, 0);
    });
    await inParallel(this.#pending, (file) => this.#noting(file.source, () => this.#copy(file)));
    return {
      files: this.#files,
      directories: this.#directories,
      bytes: this.#bytes,
      skipped: this.#skipped,
      failures: this.#failures,
    };
  }

  /** Makes the directories and collects the files. */
  async #prepare(source: Place, destination: Place, depth: number): Promise<void> {
    const { isDirectory, isFile, isSymlink, size } = await source.files.getMetadata(source.path);
    if (isFile) return this.#collect({ source, destination, size });
    if (!isDirectory) throw new ExecError('invalidRequest', 'is neither a file nor a directory');
    if (isSymlink && depth > 0) {
      this.#skipped.push(source.name);
      return;
    }
    const entries = await source.files.readDirectory(source.path);
    await destination.files.createDirectory(destination.path);
    this.#directories++;
    await inParallel(entries, ({ fileName }) => {
      const entry = below(source, fileName);
      return this.#noting(entry, () => this.#prepare(entry, below(destination, fileName), depth + 1));
    });
  }

  #collect(file: FileToCopy): void {
    this.#pending.push(file);
    const { totalBytes, totalFiles } = this.#progress;
    this.#advance({ totalBytes: totalBytes + file.size, totalFiles: totalFiles + 1 });
  }

  async #copy({ source, destination, size }: FileToCopy): Promise<void> {
    if (size <= AT_ONCE_BYTES) {
      const content = await source.files.readFile(source.path);
      await destination.files.writeFile(destination.path, content);
      this.#count(content.length);
    } else {
      await destination.files.write(destination.path, this.#counted(source.files.read(source.path)));
    }
    this.#files++;
    this.#advance({ doneFiles: this.#files });
  }

  async *#counted(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const bytes of content) {
      this.#count(bytes.length);
      yield bytes;
    }
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#advance({ doneBytes: this.#bytes });
  }

  #advance(change: Partial<Progress>): void {
    this.#progress = { ...this.#progress, ...change };
    this.#onProgress(this.#progress);
  }

  async #noting(place: Place, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#failures.push({ path: place.name, message: (error as Error).message });
    }
  }
}

/** Larger files go block by block. */
const AT_ONCE_BYTES = 512 * 1024;
const AT_A_TIME = 16;

async function isDirectory({ files, path }: Place): Promise<boolean> {
  try {
    return (await files.getMetadata(path)).isDirectory;
  } catch (error) {
    if (error instanceof ExecError && error.kind === 'notFound') return false;
    throw error;
  }
}

function baseName({ path }: Place): string {
  return posix.basename(nativeText(path));
}

function below({ files, path, name }: Place, child: string): Place {
  return { files, path: PathUri.fromNative(posix.join(nativeText(path), child)), name: posix.join(name, child) };
}

function nativeText(path: PathUri): string {
  const native = path.toNative();
  if (typeof native !== 'string') throw new ExecError('invalidRequest', `${path} is no UTF-8`);
  return native;
}

/** Works through the items, several at a time. */
async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (const item of waiting) await work(item);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
}
