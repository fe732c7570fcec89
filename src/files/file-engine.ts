import { fileAnswer, fileAnswerLater } from '../os/index.ts';
import { isPostponed, type ResultText, resultOf } from './file-answer.ts';
import { encodeFileRequest, type FileOperation, type FileRequest, fileFlags, setFlags } from './file-request.ts';

/** Carries out filesystem requests: in this process, or in a sandbox. */
export interface FileEngine {
  /** The result, at once where nothing has to be waited for; throws or rejects with what the client is told. */
  execute(request: FileRequest): ResultText | Promise<ResultText>;
}

/** Often done from the kernel's caches in less time than the way to another thread and back takes. */
export const brief: ReadonlySet<FileOperation> = new Set([
  'readFile',
  'writeFile',
  'getMetadata',
  'canonicalize',
  'readBlock',
]);

/** The filesystem as this process sees it. */
export const directEngine: FileEngine = {
  execute: (request) => execute(request, request.flags ?? 0),
};

/** As this process sees it, without procfs: what is in there tells about the server itself. */
export const guardedEngine: FileEngine = {
  execute: (request) => execute(request, (request.flags ?? 0) | fileFlags.guarded),
};

function execute(request: FileRequest, flags: number): ResultText | Promise<ResultText> {
  const { operation, payload } = request;
  const message = encodeFileRequest(request);
  if (brief.has(operation)) {
    setFlags(message, flags | fileFlags.atOnce);
    const answer = fileAnswer(message, payload);
    if (!isPostponed(answer)) return resultOf(answer);
  }
  setFlags(message, flags);
  return fileAnswerLater(message, payload).then(resultOf);
}
