import { realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileAnswer, fileAnswerLater } from '../os/index.ts';
import { secretPaths } from '../own/index.ts';
import { isPostponed, type ResultText, resultOf } from './answer.ts';
import { type Engine, usuallyInstant } from './engine.ts';
import { encodeFileRequest, type FileRequest, fileFlags, pathList, setFlags } from './request.ts';

/** The file system as this process sees it. */
export const directEngine: Engine = {
  answersInTurn: false,
  execute: (request) => execute(request, request.flags ?? 0),
};

/** The file system without procfs, which shows the server itself, and without the server's secrets. */
class GuardedEngine implements Engine {
  readonly answersInTurn = false;
  /** The paths that the addon hides. */
  #hidden: readonly string[] = [];

  execute(request: FileRequest): ResultText | Promise<ResultText> {
    this.#hideSecrets();
    return execute(request, (request.flags ?? 0) | fileFlags.guarded);
  }

  /** By their real paths and by the paths as given, because a link may lead elsewhere later. */
  #hideSecrets(): void {
    const { paths } = secretPaths;
    if (paths === this.#hidden) return;
    const payload = pathList([...new Set([...paths.map(withoutLinks), ...paths])]);
    resultOf(fileAnswer(encodeFileRequest({ operation: 'hide', payload }), payload));
    this.#hidden = paths;
  }
}

export const guardedEngine: Engine = new GuardedEngine();

/** The real path; of a path that does not exist, the one it would have. */
function withoutLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // missing
    const parent = dirname(path);
    return parent === path ? path : join(withoutLinks(parent), basename(path));
  }
}

function execute(request: FileRequest, flags: number): ResultText | Promise<ResultText> {
  const { operation, payload } = request;
  const message = encodeFileRequest(request);
  if (usuallyInstant.has(operation)) {
    setFlags(message, flags | fileFlags.atOnce);
    const answer = fileAnswer(message, payload);
    if (!isPostponed(answer)) return resultOf(answer);
  }
  setFlags(message, flags);
  return fileAnswerLater(message, payload).then(resultOf);
}
