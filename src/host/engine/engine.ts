import type { ResultText } from './answer.ts';
import type { FileOperation, FileRequest } from './request.ts';

/** Executes file requests: in this process, or in a sandbox. */
export interface Engine {
  /** Whether requests wait for earlier ones to be answered, so that none should take long. */
  readonly answersInTurn: boolean;
  /** The result, or a promise if it has to be waited for; throws or rejects with the error for the client. */
  execute(request: FileRequest): ResultText | Promise<ResultText>;
}

/** Operations that the kernel's caches often answer in less time than a switch to another thread takes. */
export const usuallyInstant: ReadonlySet<FileOperation> = new Set([
  'readFile',
  'writeFile',
  'getMetadata',
  'canonicalize',
  'readBlock',
]);
