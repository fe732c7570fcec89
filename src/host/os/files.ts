import { addon } from './addon.ts';

/** Free bytes before and after the payload of an answer of the filesystem engine (native/fs/engine.h). */
export const ANSWER_ROOM_BEFORE = 192;
export const ANSWER_ROOM_AFTER = 8;

/** Carries out a request on this thread; one that asks not to wait is refused when it would have to. */
export function fileAnswer(request: Buffer, payload?: Uint8Array): Buffer {
  return addon().fileAnswer(request, payload);
}

/** Carries out a request on the thread pool. */
export function fileAnswerLater(request: Buffer, payload?: Uint8Array): Promise<Buffer> {
  return addon().fileAnswerLater(request, payload);
}

/** The number by which the engine knows each of its operations. */
export const fileOperations = (): Readonly<Record<string, number>> => addon().fileOperations();
