import { ExecError, type PathUri } from '../../protocol/index.ts';
import { type Engine, type FileRequest, fileFlags, parseResult, type ResultText, resultText } from '../engine/index.ts';
import { checkHandleId, checkWriteRange, handleExists, OpenFile } from './open-files.ts';

/**
 * Files open for appending. They belong to a session, not to a connection: after a lost one the client repeats the block whose answer
 * is missing, and only the handle knows whether it was written.
 */
export class AppendFiles implements AsyncDisposable {
  readonly #files = new Map<string, AppendFile>();
  #disposed = false;

  has(handleId: string): boolean {
    return this.#files.has(handleId);
  }

  /** Opening the same file by the same id again gives the same handle: the first answer may have been lost. */
  async open(handleId: string, path: PathUri, engine: () => Engine): Promise<ResultText> {
    checkHandleId(handleId);
    if (this.#disposed) throw new ExecError('invalidRequest', 'the session has ended');
    const known = this.#files.get(handleId);
    if (known && known.path.href !== path.href) throw handleExists(handleId);
    const file = known ?? this.#add(handleId, new AppendFile(path, engine()));
    try {
      await file.opened;
    } catch (error) {
      if (this.#files.get(handleId) === file) this.#files.delete(handleId);
      throw error;
    }
    return resultText({ handleId });
  }

  async writeBlock(handleId: string, offset: number, chunk: Uint8Array): Promise<ResultText> {
    checkWriteRange(offset, chunk);
    await this.#files.get(handleId)?.append(offset, chunk);
    return resultText({});
  }

  /** Closes a file after the blocks under way. */
  async close(handleId: string): Promise<void> {
    const file = this.#files.get(handleId);
    this.#files.delete(handleId);
    await file?.[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    await Promise.all([...this.#files.keys()].map((handleId) => this.close(handleId)));
  }

  #add(handleId: string, file: AppendFile): AppendFile {
    if (this.#files.size >= MAX_APPEND_HANDLES) {
      void file[Symbol.asyncDispose]();
      throw new ExecError(
        'invalidRequest',
        `at most ${MAX_APPEND_HANDLES} files may be open for appending per session`,
      );
    }
    this.#files.set(handleId, file);
    return file;
  }
}

/** A file that grows at its end, wherever that is by now: others may append to it as well. */
class AppendFile implements AsyncDisposable {
  readonly path: PathUri;
  readonly #file: OpenFile;
  /** How many bytes of this handle are in the file. */
  #written = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(path: PathUri, engine: Engine) {
    this.path = path;
    this.#file = new OpenFile(engine, { operation: 'open', paths: [path], flags: fileFlags.append });
  }

  get opened(): Promise<void> {
    return this.#file.opened;
  }

  /** The offset counts the bytes of this handle; those that were written before are left out. */
  append(offset: number, chunk: Uint8Array): Promise<void> {
    const outcome = this.#last.then(() => this.#append(offset, chunk));
    this.#last = outcome.catch(() => {}); // its own caller gets the error
    return outcome;
  }

  async #append(offset: number, chunk: Uint8Array): Promise<void> {
    if (offset > this.#written) {
      const text = `a block at offset ${offset} leaves a gap: ${this.#written} bytes of this handle are written`;
      throw new ExecError('invalidRequest', text);
    }
    const end = offset + chunk.length;
    while (this.#written < end) {
      const payload = chunk.subarray(this.#written - offset);
      const request: FileRequest = { operation: 'appendBlock', payload };
      const { written } = parseResult(await this.#file.execute(request)) as { written: number };
      this.#written += written;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last;
    await this.#file[Symbol.asyncDispose]();
  }
}

/** As many as there may be other handles per connection. */
const MAX_APPEND_HANDLES = 128;
