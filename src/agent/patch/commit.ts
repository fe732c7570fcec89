import { posix } from 'node:path';
import { encodeUtf8 } from '../../base/index.ts';
import { ExecError, type ExecutorFileSystem, type PathOptions, PathUri } from '../../protocol/index.ts';

/** The options to write a file with. */
export type WriteAccess = (path: string) => Pick<PathOptions, 'sandbox' | 'followSymlinks'>;

/** A file before and after a patch; absent means there is none. */
export interface FileVersions {
  readonly before: Uint8Array | undefined;
  readonly after: string | undefined;
}

export type CommitStep = 'create-directories' | 'write' | 'delete';

const FAILURES: Readonly<Record<CommitStep, string>> = {
  'create-directories': 'Failed to create parent directories for',
  write: 'Failed to write file',
  delete: 'Failed to delete file',
};

/** A write that failed. The writes before it have been undone, unless `rollBackFailure` is set. */
export class CommitError extends Error {
  override readonly name = 'CommitError';
  readonly step: CommitStep;
  override readonly cause: ExecError;
  /** Why undoing failed. */
  readonly rollBackFailure: ExecError | undefined;

  constructor(step: CommitStep, path: string, cause: ExecError, rollBackFailure: ExecError | undefined) {
    super(`${FAILURES[step]} ${path}`);
    this.step = step;
    this.cause = cause;
    this.rollBackFailure = rollBackFailure;
  }
}

/** Writes and removes files, all or none of them. */
export class Commit {
  readonly #files: ExecutorFileSystem;
  readonly #access: WriteAccess;
  readonly #undo: (() => Promise<void>)[] = [];

  constructor(files: ExecutorFileSystem, access: WriteAccess) {
    this.#files = files;
    this.#access = access;
  }

  async run(changes: ReadonlyMap<string, FileVersions>): Promise<void> {
    const written = [...changes].filter(([, { after }]) => after !== undefined);
    const removed = [...changes].filter(([, { before, after }]) => before !== undefined && after === undefined);
    // New files are written before old ones are removed: an interrupted move leaves two copies, never none.
    for (const [path, versions] of written) {
      await this.#orRollBack('create-directories', path, () => this.#makeDirectoryOf(path));
      await this.#orRollBack('write', path, () => this.#write(path, versions));
    }
    for (const [path, versions] of removed) await this.#orRollBack('delete', path, () => this.#remove(path, versions));
  }

  /** Takes a step; when it fails, undoes all steps before it. */
  async #orRollBack(step: CommitStep, path: string, action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      const failure = await this.#rollBack();
      throw new CommitError(step, path, ExecError.from(error), failure);
    }
  }

  async #write(path: string, { before, after }: FileVersions): Promise<void> {
    try {
      await this.#files.writeFile(PathUri.fromNative(path), encodeUtf8(after!), this.#access(path));
    } catch (error) {
      const now = await this.#read(path);
      if (!isEqual(now, before)) this.#undo.push(() => this.#restore(path, before)); // the failed write has changed the file
      throw error;
    }
    this.#undo.push(() => this.#restore(path, before));
  }

  async #remove(path: string, { before }: FileVersions): Promise<void> {
    await this.#files.remove(PathUri.fromNative(path), { ...this.#access(path), recursive: false, force: false });
    this.#undo.push(() => this.#restore(path, before));
  }

  async #makeDirectoryOf(path: string): Promise<void> {
    const missing = await this.#missing(path);
    if (missing.length === 0) return;
    await this.#files.createDirectory(PathUri.fromNative(posix.dirname(path)), this.#access(path));
    this.#undo.push(async () => {
      for (const made of missing) await this.#removeAgain(made, path); // fails where others have put files into it
    });
  }

  /** The missing directories of a path, innermost first. Other errors than absence are left to their creation. */
  async #missing(path: string): Promise<string[]> {
    const missing: string[] = [];
    for (let at = posix.dirname(path); at !== '/'; at = posix.dirname(at)) {
      const failure = await this.#files.getMetadata(PathUri.fromNative(at), this.#access(path)).then(
        () => undefined,
        (error: unknown) => ExecError.from(error),
      );
      if (failure?.kind !== 'notFound') return missing;
      missing.push(at);
    }
    return missing;
  }

  async #restore(path: string, before: Uint8Array | undefined): Promise<void> {
    if (before) await this.#files.writeFile(PathUri.fromNative(path), before, this.#access(path));
    else await this.#removeAgain(path, path);
  }

  /** Removes a file that the commit has made, or a directory made for it. */
  async #removeAgain(made: string, path: string): Promise<void> {
    await this.#files.remove(PathUri.fromNative(made), { ...this.#access(path), recursive: false });
  }

  async #read(path: string): Promise<Uint8Array | undefined> {
    return this.#files.readFile(PathUri.fromNative(path), this.#access(path)).catch(() => undefined); // no file, as before a failed creation
  }

  /** Undoes all steps, newest first, also after one of them fails; returns the first failure. */
  async #rollBack(): Promise<ExecError | undefined> {
    let failure: ExecError | undefined;
    for (const step of this.#undo.reverse()) {
      await step().catch((error: unknown) => {
        failure ??= ExecError.from(error);
      });
    }
    return failure;
  }
}

function isEqual(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}
