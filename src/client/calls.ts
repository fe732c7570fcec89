import type { MethodName, Params, RepeatOptions, Result } from '../protocol/index.ts';
import type { ChangeListener } from './files/file-watch.ts';

/** The part of a client that its process objects use. */
export interface Calls {
  request<M extends MethodName>(
    method: M,
    params: Params<M>,
    signal?: AbortSignal,
    options?: RepeatOptions,
  ): Promise<Result<M>>;
  supports(capability: string): boolean;
  /** Gives the changes of a watch to the listener, until that is disposed of. */
  listen(watchId: string, listener: ChangeListener): Disposable;
}
