import { ExecutorFileSystem } from '../protocol/index.ts';
import type { Calls } from './calls.ts';

/** The filesystem on the other side of a connection. */
export class RemoteFileSystem extends ExecutorFileSystem {
  constructor(calls: Pick<Calls, 'request'>) {
    super({ request: (method, params, signal, options) => calls.request(method, params, signal, options) });
  }
}
