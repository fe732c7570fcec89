import type { MethodName, Params, Result } from '../../protocol/index.ts';
import type { ManagedProcess } from './managed-process.ts';
import { usageOf } from './usage.ts';

type ProcessRequests = {
  readonly [M in Extract<MethodName, `process/${string}`>]?: (
    process: ManagedProcess,
    params: Params<M>,
    signal: AbortSignal,
  ) => Result<M> | Promise<Result<M>>;
};

/** Requests about one process of the table. */
export const processRequests: ProcessRequests = {
  'process/resize': (process, { rows, cols }) => {
    process.resize(rows, cols);
    return {};
  },
  'process/wait': (process, params, signal) => process.view.wait(params, signal),
  'process/snapshot': (process) => process.view.snapshot(),
  'process/stat': ({ pid, mark }) => usageOf(pid, mark),
};
