import type { FileMethod, Params, PathUri } from '../protocol/index.ts';
import { FileAccess, type FileAccessOptions } from './file-access.ts';
import { type ResultText, resultText } from './file-answer.ts';
import { fileFlags } from './file-request.ts';
import { MissingWatch } from './missing-watch.ts';
import { OpenFiles } from './open-files.ts';
import { PathOrder } from './path-order.ts';
import { isPlainFileMethod, type PlainFileMethod, wireRequests } from './wire-requests.ts';

export interface FileServiceOptions extends FileAccessOptions {
  /** Called when a watch of `fs/watchMissing` has fired. */
  readonly onMissingChanged: (watchId: number) => void;
}

type Handlers = { readonly [M in FileMethod]?: (params: Params<M>) => ResultText | Promise<ResultText> };

/** The filesystem for one client: its requests in order where that matters, its open files, its watch. */
export class FileService implements AsyncDisposable {
  readonly #order = new PathOrder();
  readonly #files = new OpenFiles();
  readonly #access: FileAccess;
  readonly #watch: MissingWatch;
  readonly #handlers: Handlers = {
    'fs/open': (params) => this.open(params),
    'fs/readBlock': (params) => this.readBlock(params),
    'fs/writeBlock': (params) => this.writeBlock(params),
    'fs/close': (params) => this.close(params),
    'fs/watchMissing': (params) => this.watchMissing(params),
  };

  constructor({ onMissingChanged, ...access }: FileServiceOptions) {
    this.#access = new FileAccess(access);
    this.#watch = new MissingWatch(onMissingChanged);
  }

  /** Answers any method of the filesystem. */
  answer<M extends FileMethod>(method: M, params: Params<M>): ResultText | Promise<ResultText> {
    const handler = this.#handlers[method];
    return handler ? handler(params) : this.call(method as PlainFileMethod, params as never);
  }

  answers(method: string): method is FileMethod {
    return isPlainFileMethod(method) || Object.hasOwn(this.#handlers, method);
  }

  call<M extends PlainFileMethod>(method: M, params: Params<M>): ResultText | Promise<ResultText> {
    const request = wireRequests[method](params);
    const { paths, mode, sandbox } = request;
    return this.#order.run(paths.map(hrefOf), mode === 'write', () =>
      this.#access.engine(sandbox, mode).execute(request),
    );
  }

  open({ handleId, path, mode, sandbox }: Params<'fs/open'>): ResultText | Promise<ResultText> {
    const replace = mode === 'replace';
    const request = { operation: 'open', paths: [path], flags: replace ? fileFlags.replace : 0 } as const;
    return this.#order.run([path.href], replace, () =>
      this.#files.open(handleId, this.#access.engine(sandbox, replace ? 'write' : 'read'), request),
    );
  }

  readBlock({ handleId, offset, len }: Params<'fs/readBlock'>): Promise<ResultText> {
    return this.#files.readBlock(handleId, offset, len);
  }

  writeBlock({ handleId, offset, chunk }: Params<'fs/writeBlock'>): Promise<ResultText> {
    return this.#files.writeBlock(handleId, offset, chunk);
  }

  async close({ handleId }: Params<'fs/close'>): Promise<ResultText> {
    await this.#files.close(handleId);
    return resultText({});
  }

  watchMissing({ watchId, missing, present }: Params<'fs/watchMissing'>): ResultText {
    return resultText({ watching: this.#watch.replace(watchId, missing, present ?? undefined) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watch[Symbol.dispose]();
    await this.#files[Symbol.asyncDispose]();
    await this.#access[Symbol.asyncDispose]();
  }
}

const hrefOf = (path: PathUri): string => path.href;
