import type { MethodName, Params, Result } from './methods.ts';
import type { PathUri } from './path-uri.ts';
import type { Sandbox } from './sandbox.ts';

/** Whatever answers `fs/*` requests: a server, or this process. */
export interface FileRequests {
  request<M extends FileMethod>(method: M, params: Params<M>, signal?: AbortSignal): Promise<Result<M>>;
}

export type FileMethod = Extract<MethodName, `fs/${string}`>;

export interface FileOptions {
  /** What the operation may touch; everything without one. */
  readonly sandbox?: Sandbox | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface PathOptions extends FileOptions {
  /** False refuses every path with a symbolic link in it. */
  readonly followSymlinks?: boolean | undefined;
}

export type FileMetadata = Result<'fs/getMetadata'>;
export type DirectoryEntry = Result<'fs/readDirectory'>['entries'][number];
export type WalkOptions = Params<'fs/walk'>['options'];
export type WalkOutcome = Result<'fs/walk'>;

/** The filesystem of an executor, the same wherever it is. Failures are `ExecError`s. */
export class ExecutorFileSystem {
  readonly #requests: FileRequests;

  constructor(requests: FileRequests) {
    this.#requests = requests;
  }

  async readFile(path: PathUri, { signal, ...options }: PathOptions = {}): Promise<Uint8Array> {
    return (await this.#requests.request('fs/readFile', { path, ...options }, signal)).dataBase64;
  }

  async writeFile(path: PathUri, bytes: Uint8Array, { signal, ...options }: PathOptions = {}): Promise<void> {
    await this.#requests.request('fs/writeFile', { path, dataBase64: bytes, ...options }, signal);
  }

  /** Makes those above it too, unless told otherwise. */
  async createDirectory(path: PathUri, options: PathOptions & { readonly recursive?: boolean } = {}): Promise<void> {
    const { signal, ...rest } = options;
    await this.#requests.request('fs/createDirectory', { path, ...rest }, signal);
  }

  /** With `identity` servers that have the capability `cwdIdentity` tell which file it is. */
  getMetadata(path: PathUri, options: PathOptions & { readonly identity?: boolean } = {}): Promise<FileMetadata> {
    const { signal, ...rest } = options;
    return this.#requests.request('fs/getMetadata', { path, ...rest }, signal);
  }

  async canonicalize(path: PathUri, { signal, sandbox }: FileOptions = {}): Promise<PathUri> {
    return (await this.#requests.request('fs/canonicalize', { path, sandbox }, signal)).path;
  }

  async readDirectory(path: PathUri, { signal, sandbox }: FileOptions = {}): Promise<DirectoryEntry[]> {
    return (await this.#requests.request('fs/readDirectory', { path, sandbox }, signal)).entries;
  }

  walk(path: PathUri, options: WalkOptions, { signal, sandbox }: FileOptions = {}): Promise<WalkOutcome> {
    return this.#requests.request('fs/walk', { path, options, sandbox }, signal);
  }

  /** Recursive and content with what is not there, unless told otherwise. */
  async remove(
    path: PathUri,
    options: PathOptions & { readonly recursive?: boolean; readonly force?: boolean } = {},
  ): Promise<void> {
    const { signal, ...rest } = options;
    await this.#requests.request('fs/remove', { path, ...rest }, signal);
  }

  async copy(
    sourcePath: PathUri,
    destinationPath: PathUri,
    options: FileOptions & { readonly recursive?: boolean } = {},
  ): Promise<void> {
    const { signal, sandbox, recursive = false } = options;
    await this.#requests.request('fs/copy', { sourcePath, destinationPath, recursive, sandbox }, signal);
  }

  /** The content of a file of any size, a block at a time. */
  async *read(path: PathUri, { signal, sandbox }: FileOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    const handleId = newHandleId();
    await this.#requests.request('fs/open', { handleId, path, sandbox }, signal);
    const ahead: Promise<Result<'fs/readBlock'>>[] = [];
    let offset = 0;
    try {
      for (;;) {
        for (; ahead.length < BLOCKS_AHEAD; offset += BLOCK_BYTES) {
          ahead.push(handled(this.#requests.request('fs/readBlock', { handleId, offset, len: BLOCK_BYTES }, signal)));
        }
        const { chunk, eof } = await ahead.shift()!;
        if (chunk.length > 0) yield chunk;
        if (eof) return;
      }
    } finally {
      await this.#close(handleId, ahead);
    }
  }

  /** Replaces the content of a file by what comes; resolves with its length. */
  async write(
    path: PathUri,
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    { signal, sandbox }: FileOptions = {},
  ): Promise<number> {
    const handleId = newHandleId();
    await this.#requests.request('fs/open', { handleId, path, mode: 'replace', sandbox }, signal);
    const ahead: Promise<unknown>[] = [];
    let offset = 0;
    try {
      for await (const bytes of content) {
        for (const chunk of blocks(bytes)) {
          if (ahead.length >= BLOCKS_AHEAD) await ahead.shift();
          ahead.push(handled(this.#requests.request('fs/writeBlock', { handleId, offset, chunk }, signal)));
          offset += chunk.length;
        }
      }
      while (ahead.length > 0) await ahead.shift();
    } finally {
      await this.#close(handleId, ahead);
    }
    return offset;
  }

  async #close(handleId: string, ahead: readonly Promise<unknown>[]): Promise<void> {
    await Promise.allSettled(ahead);
    await this.#requests.request('fs/close', { handleId }).catch(() => {}); // the connection is gone, and so is the handle
  }
}

/** The largest block there is. */
const BLOCK_BYTES = 1_048_576;
/** Enough to keep both ends and the way between them busy. */
const BLOCKS_AHEAD = 4;

/** As many characters as an id may have. */
const newHandleId = (): string => crypto.randomUUID().replaceAll('-', '');

/** A promise whose failure is noticed when its turn comes. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {}); // whoever awaits it is told
  return promise;
}

function* blocks(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += BLOCK_BYTES) yield bytes.subarray(at, at + BLOCK_BYTES);
}
