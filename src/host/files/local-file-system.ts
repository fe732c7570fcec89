import {
  decode,
  ExecutorFileSystem,
  type FileMethod,
  methods,
  type Params,
  type Result,
} from '../../protocol/index.ts';
import { parseResult } from '../engine/index.ts';
import type { SandboxHost } from '../sandbox/index.ts';
import { FileService } from './service.ts';

export interface LocalFileSystemOptions {
  readonly sandboxes: SandboxHost;
  /** Called when a watch of `fs/watchMissing` has fired. */
  readonly onMissingChanged?: (watchId: number) => void;
}

/** The filesystem of this machine, with or without a sandbox. Disposal closes what is open and ends helpers. */
export class LocalFileSystem extends ExecutorFileSystem implements AsyncDisposable {
  readonly #service: FileService;

  constructor({ sandboxes, onMissingChanged = () => {} }: LocalFileSystemOptions) {
    const service = new FileService({ sandboxes, onMissingChanged });
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
