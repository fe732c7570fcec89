import { fileAnswer, fileAnswerLater } from '../os/index.ts';
import { isPostponed, type ResultText, resultOf } from './file-answer.ts';
import { encodeFileRequest, type FileOperation, type FileRequest, fileFlags } from './file-request.ts';

/** Carries out filesystem requests: in this process, or in a sandbox. */
export interface FileEngine {
  /** The result, at once where nothing has to be waited for; throws or rejects with what the client is told. */
  execute(request: FileRequest): ResultText | Promise<ResultText>;
}

/** Often answered from the kernel's caches in less time than the way to another thread and back takes. */
const brief: ReadonlySet<FileOperation> = new Set(['readFile', 'getMetadata', 'canonicalize', 'readBlock']);

/** The filesystem as this process sees it. */
export const directEngine: FileEngine = {
  execute(request) {
    const { flags = 0, operation } = request;
    if (brief.has(operation)) {
      const answer = fileAnswer(encodeFileRequest({ ...request, flags: flags | fileFlags.atOnce }));
      if (!isPostponed(answer)) return resultOf(answer);
    }
    return fileAnswerLater(encodeFileRequest(request), request.payload).then(resultOf);
  },
};

/** As this process sees it, without procfs: what is in there tells about the server itself. */
export const guardedEngine: FileEngine = {
  execute: (request) => directEngine.execute({ ...request, flags: (request.flags ?? 0) | fileFlags.guarded }),
};
