import {
  decode,
  ExecutorFileSystem,
  type FileMethod,
  methods,
  type Params,
  type Result,
} from '../../protocol/index.ts';
import { parseResult } from '../engine/index.ts';
import { FileService } from './service.ts';

export interface LocalFileSystemOptions {
  /** The environment of the server, of which sandboxed helpers see a few variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** Called when a watch of `fs/watchMissing` has fired. */
  readonly onMissingChanged?: (watchId: number) => void;
}

/** The filesystem of this machine, with or without a sandbox. Disposal closes what is open and ends helpers. */
export class LocalFileSystem extends ExecutorFileSystem implements AsyncDisposable {
  readonly #service: FileService;

  constructor(options: LocalFileSystemOptions = {}) {
    const env = options.env ?? (process.env as Record<string, string>);
    const service = new FileService({ env, onMissingChanged: options.onMissingChanged ?? (() => {}) });
    super({ request: (method, params) => request(service, method, params) });
    this.#service = service;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#service[Symbol.asyncDispose]();
  }
}

async function request<M extends FileMethod>(service: FileService, method: M, params: Params<M>): Promise<Result<M>> {
  const answer = parseResult(await service.answer(method, params));
  return decode(methods[method].result, answer) as Result<M>;
}
