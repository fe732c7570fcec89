import type { MethodName, Params } from '../protocol/index.ts';

/**
 * Requests that do no harm when they are carried out twice. A write is recognised by its id, a start by its
 * `startId`; what reads or ends something can be asked again. File handles and HTTP bodies die with their connection,
 * and a file may have changed between two writes: those are for the caller to judge.
 */
const always: ReadonlySet<MethodName> = new Set<MethodName>([
  'environment/info',
  'environment/status',
  'environmentConfig/read',
  'process/read',
  'process/closeStdin',
  'process/signal',
  'process/terminate',
  'process/resize',
  'process/wait',
  'process/snapshot',
  'process/list',
  'fs/readFile',
  'fs/getMetadata',
  'fs/canonicalize',
  'fs/readDirectory',
  'fs/walk',
  'capabilityRoots/discoverV1',
  'capabilities/discoverV2',
]);

export function isRepeatable<M extends MethodName>(method: M, params: Params<M>): boolean {
  const { writeId, startId } = (params ?? {}) as { writeId?: string; startId?: string };
  if (method === 'process/write') return writeId !== undefined;
  if (method === 'process/start') return Boolean(startId);
  return always.has(method);
}
