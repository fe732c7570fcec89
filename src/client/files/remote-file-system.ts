import { ExecutorFileSystem, type PathUri } from '../../protocol/index.ts';
import type { Calls } from '../calls.ts';
import { FileWatch, type WatchOptions } from './file-watch.ts';

/** The filesystem on the other side of a connection. */
export class RemoteFileSystem extends ExecutorFileSystem {
  readonly #calls: Pick<Calls, 'request' | 'listen'>;

  constructor(calls: Pick<Calls, 'request' | 'listen'>) {
    super({ request: (method, params, signal, options) => calls.request(method, params, signal, options) });
    this.#calls = calls;
  }

  /** Tells what changes at a path; servers with the capability `fsWatch`. To be disposed of. */
  watch(path: PathUri, options?: WatchOptions): Promise<FileWatch> {
    return FileWatch.open(this.#calls, path, options);
  }
}
