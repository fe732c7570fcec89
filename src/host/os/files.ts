import { addon } from './addon.ts';

/** Free bytes before and after the payload of an answer of the file engine (native/fs/engine.h). */
export const ANSWER_ROOM_BEFORE = 192;
export const ANSWER_ROOM_AFTER = 8;

/** Executes a request on this thread. With the flag `atOnce`, a request that would have to wait is postponed instead. */
export function fileAnswer(request: Buffer, payload?: Uint8Array): Buffer {
  return addon().fileAnswer(request, payload);
}

/** Executes a request on the thread pool. */
export function fileAnswerLater(request: Buffer, payload?: Uint8Array): Promise<Buffer> {
  return addon().fileAnswerLater(request, payload);
}

/** Whether a file has an extended attribute that is 1. */
export const hasAttribute = (path: string, name: string): boolean =>
  addon().hasAttribute(Buffer.from(`${path}\0${name}\0`));

/** The number of each operation of the engine. */
export const fileOperations = (): Readonly<Record<string, number>> => addon().fileOperations();
