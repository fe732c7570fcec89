import type { MethodName, Params, RepeatOptions, Result } from '../protocol/index.ts';

/** The part of a client that its process objects use. */
export interface Calls {
  request<M extends MethodName>(
    method: M,
    params: Params<M>,
    signal?: AbortSignal,
    options?: RepeatOptions,
  ): Promise<Result<M>>;
  supports(capability: string): boolean;
}
