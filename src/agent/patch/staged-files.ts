import { ExecError, type ExecutorFileSystem, type FileOptions, PathUri } from '../../protocol/index.ts';
import { Commit, type FileVersions, type WriteAccess } from './commit.ts';

/** Collects changes of files. Nothing is written before `commit`. */
export class StagedFiles {
  readonly #files: ExecutorFileSystem;
  readonly #options: FileOptions;
  readonly #staged = new Map<string, FileVersions>();

  constructor(files: ExecutorFileSystem, options: FileOptions) {
    this.#files = files;
    this.#options = options;
  }

  /** The text of a file after the changes so far. */
  async read(path: string): Promise<string> {
    const staged = this.#staged.get(path);
    if (staged === undefined) return decodeText(await this.#present(path));
    if (staged.after === undefined) throw new ExecError('notFound', 'No such file or directory (os error 2)');
    return staged.after;
  }

  /** Stages the text of a file; true when the file is new. An existing file must be readable, so that it can be restored. */
  async write(path: string, text: string): Promise<boolean> {
    const staged = this.#staged.get(path);
    const before = staged ? staged.before : await this.#presentIfAny(path);
    this.#staged.set(path, { before, after: text });
    return (staged ? staged.after : before) === undefined;
  }

  /** Stages the removal of a file; throws when there is none. */
  async remove(path: string): Promise<void> {
    const staged = this.#staged.get(path);
    if (staged) await this.read(path);
    this.#staged.set(path, { before: staged ? staged.before : await this.#present(path), after: undefined });
  }

  /** Writes and removes all files; on failure undoes everything and throws a `CommitError`. */
  async commit(access: WriteAccess): Promise<void> {
    this.#options.signal?.throwIfAborted(); // from here on all changes are made, or none
    await new Commit(this.#files, access).run(this.#staged);
  }

  async #presentIfAny(path: string): Promise<Uint8Array | undefined> {
    try {
      return await this.#present(path);
    } catch (error) {
      if (ExecError.from(error).kind === 'notFound') return undefined;
      throw error;
    }
  }

  #present(path: string): Promise<Uint8Array> {
    return this.#files.readFile(PathUri.fromNative(path), this.#options);
  }
}

function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ExecError('invalidRequest', 'the file is not UTF-8 text');
  }
}
