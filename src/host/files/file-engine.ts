import { realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileAnswer, fileAnswerLater } from '../os/index.ts';
import { secretPaths } from '../own/index.ts';
import { isPostponed, type ResultText, resultOf } from './file-answer.ts';
import {
  encodeFileRequest,
  type FileOperation,
  type FileRequest,
  fileFlags,
  pathList,
  setFlags,
} from './file-request.ts';

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

/** As this process sees it, without procfs, which tells about the server itself, and without the server's secrets. */
export const guardedEngine: FileEngine = {
  execute: (request) => {
    hideSecrets();
    return execute(request, (request.flags ?? 0) | fileFlags.guarded);
  },
};

let hidden: readonly string[] = [];

/** Told without links, and as they are named, for links may lead elsewhere later. One that does not exist is told as it would be called. */
function hideSecrets(): void {
  const { paths } = secretPaths;
  if (paths === hidden) return;
  const payload = pathList([...new Set([...paths.map(withoutLinks), ...paths])]);
  resultOf(fileAnswer(encodeFileRequest({ operation: 'hide', payload }), payload));
  hidden = paths;
}

function withoutLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(withoutLinks(parent), basename(path));
  }
}

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
