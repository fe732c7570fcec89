import { onAbort } from '../base/index.ts';
import { FileCalls, type FileOptions, type RepeatOptions } from './files.ts';
import type { Params, Result } from './methods.ts';
import type { PathUri } from './path-uri.ts';

export interface SearchOptions extends FileOptions, Omit<Params<'fs/search'>, 'path' | 'searchId' | 'sandbox'> {}

export type SearchOutcome = Result<'fs/search'>;

/** The filesystem of an executor, local or remote. Failures are `ExecError`s. */
export class ExecutorFileSystem extends FileCalls {
  /** The content of a file of any size, a block at a time. */
  async *read(path: PathUri, { signal, sandbox }: FileOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    const handleId = newId();
    await this.requests.request('fs/open', { handleId, path, sandbox }, signal);
    const ahead: Promise<Result<'fs/readBlock'>>[] = [];
    let offset = 0;
    try {
      for (;;) {
        for (; ahead.length < BLOCKS_AHEAD; offset += BLOCK_BYTES) {
          ahead.push(handled(this.requests.request('fs/readBlock', { handleId, offset, len: BLOCK_BYTES }, signal)));
        }
        const { chunk, eof } = await ahead.shift()!;
        if (chunk.length > 0) yield chunk;
        if (eof) return;
      }
    } finally {
      await this.#close(handleId, ahead);
    }
  }

  /** Replaces the content of a file; resolves with the new length. */
  async write(
    path: PathUri,
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    { signal, sandbox }: FileOptions = {},
  ): Promise<number> {
    const handleId = newId();
    await this.requests.request('fs/open', { handleId, path, mode: 'replace', sandbox }, signal);
    const ahead: Promise<unknown>[] = [];
    let offset = 0;
    try {
      for await (const bytes of content) {
        for (const chunk of blocks(bytes)) {
          if (ahead.length >= BLOCKS_AHEAD) await ahead.shift();
          ahead.push(handled(this.requests.request('fs/writeBlock', { handleId, offset, chunk }, signal)));
          offset += chunk.length;
        }
      }
      while (ahead.length > 0) await ahead.shift();
    } finally {
      await this.#close(handleId, ahead);
    }
    return offset;
  }

  /** Adds to the end of a file, and creates a missing one; resolves with the number of bytes. Goes on after a lost connection. */
  async append(
    path: PathUri,
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    { signal, sandbox }: FileOptions = {},
  ): Promise<number> {
    const handleId = newId();
    const again = { repeatable: true }; // the handle recognises its blocks by their offsets
    await this.requests.request('fs/open', { handleId, path, mode: 'append', sandbox }, signal, again);
    let offset = 0;
    try {
      for await (const bytes of content) {
        for (const chunk of blocks(bytes)) {
          // Not ahead of the one before: repeated blocks could arrive in another order.
          await this.requests.request('fs/writeBlock', { handleId, offset, chunk }, signal, again);
          offset += chunk.length;
        }
      }
    } finally {
      await this.#close(handleId, [], again);
    }
    return offset;
  }

  /** Finds entries by name, or lines by content, below a directory or in one file; aborting ends the search on the server. */
  async search(path: PathUri, { signal, ...query }: SearchOptions): Promise<SearchOutcome> {
    const searchId = newId();
    const cancel = (): void => {
      this.requests.request('fs/searchCancel', { searchId }).catch(() => {}); // without a connection the server has cancelled it
    };
    signal?.throwIfAborted();
    using _listening = onAbort(signal, cancel);
    const outcome = await this.requests.request('fs/search', { searchId, path, ...query }, signal);
    signal?.throwIfAborted(); // a file system of this process answers what it had
    return outcome;
  }

  async #close(handleId: string, ahead: readonly Promise<unknown>[], options?: RepeatOptions): Promise<void> {
    await Promise.allSettled(ahead);
    await this.requests.request('fs/close', { handleId }, undefined, options).catch(() => {}); // the server closes it with the connection or the session
  }
}

/** The largest block that a server reads or writes. */
const BLOCK_BYTES = 1_048_576;
/** Blocks requested before the first is answered: enough to keep both ends and the connection busy. */
const BLOCKS_AHEAD = 4;

/** 32 characters, the longest id that the server takes for a handle. */
const newId = (): string => crypto.randomUUID().replaceAll('-', '');

/** A promise that is awaited later: its failure counts as handled until then. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {}); // rejects for the reader that awaits it later
  return promise;
}

function* blocks(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += BLOCK_BYTES) yield bytes.subarray(at, at + BLOCK_BYTES);
}
