import type { MethodName, Params, Result } from '../protocol/index.ts';

/** What a process object needs of the client it belongs to. */
export interface Calls {
  request<M extends MethodName>(method: M, params: Params<M>, signal?: AbortSignal): Promise<Result<M>>;
  supports(capability: string): boolean;
}
