import { type Method, type MethodName, methods, type Params } from '../protocol/index.ts';

/**
 * Whether a request may be sent again when the connection was lost before the answer. A write is recognised by its id, a start by its
 * `startId` and an open by its `openId`; for others the method table says it. File handles and HTTP bodies end with their connection, and a file may have changed
 * between two writes: the caller decides about those.
 */
export function isRepeatable<M extends MethodName>(method: M, params: Params<M>): boolean {
  const { writeId, startId, openId } = (params ?? {}) as { writeId?: string; startId?: string; openId?: string };
  if (method === 'process/write' || method === 'net/write') return writeId !== undefined;
  if (method === 'process/start') return Boolean(startId);
  if (method === 'net/open') return Boolean(openId);
  const definition: Method = methods[method];
  return definition.repeatable === true;
}
