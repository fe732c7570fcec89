import { decodeBase64 } from '../../base/index.ts';
import type { Params, PathUri, Sandbox } from '../../protocol/index.ts';
import type { FileService, PlainFileMethod } from '../files/index.ts';

interface Metadata {
  readonly isDirectory: boolean;
  readonly isFile: boolean;
  readonly size: number;
}

interface Walk {
  readonly entries: readonly { readonly path: string; readonly kind: string }[];
  readonly errors: readonly { readonly path: string; readonly message: string }[];
  readonly truncated: boolean;
}

export interface WalkLimits {
  readonly maxDepth: number;
  readonly maxDirectories: number;
  readonly maxEntries: number;
}

/** The files that a sandbox permits, or all files without one. */
export class FileView {
  readonly #files: Pick<FileService, 'call'>;
  readonly #sandbox: Sandbox | null | undefined;

  constructor(files: Pick<FileService, 'call'>, sandbox: Sandbox | null | undefined) {
    this.#files = files;
    this.#sandbox = sandbox;
  }

  metadata(path: PathUri): Promise<Metadata> {
    return this.#call('fs/getMetadata', { path, sandbox: this.#sandbox });
  }

  /** All entries below a directory, also through links to directories. */
  walk(path: PathUri, limits: WalkLimits): Promise<Walk> {
    const options = { ...limits, followDirectorySymlinks: true };
    return this.#call('fs/walk', { path, options, sandbox: this.#sandbox });
  }

  async read(path: PathUri): Promise<Uint8Array> {
    const { dataBase64 } = await this.#call<{ dataBase64: string }>('fs/readFile', { path, sandbox: this.#sandbox });
    return decodeBase64(dataBase64);
  }

  async #call<T>(method: PlainFileMethod, params: Params<typeof method>): Promise<T> {
    const { buffer, start, end } = await this.#files.call(method, params);
    return JSON.parse(buffer.toString('utf8', start, end)) as T;
  }
}
