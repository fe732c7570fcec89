import { type Method, type MethodName, methods, type Params } from '../protocol/index.ts';

/**
 * Whether a request does no harm when it is carried out twice. A write is recognised by its id, a start by its `startId`; for the
 * others the method says so. File handles and HTTP bodies die with their connection, and a file may have changed between two
 * writes: those are for the caller to judge.
 */
export function isRepeatable<M extends MethodName>(method: M, params: Params<M>): boolean {
  const { writeId, startId } = (params ?? {}) as { writeId?: string; startId?: string };
  if (method === 'process/write') return writeId !== undefined;
  if (method === 'process/start') return Boolean(startId);
  const definition: Method = methods[method];
  return definition.repeatable === true;
}
