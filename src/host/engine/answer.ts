import { type ErrorKind, ExecError } from '../../protocol/index.ts';
import { ANSWER_ROOM_BEFORE, errorName, isWorthReleasing, osErrorText, release } from '../os/index.ts';

/** The JSON text of a result inside a buffer, with the room of an answer's head before it and some more behind. */
export interface ResultText {
  readonly buffer: Buffer;
  readonly start: number;
  readonly end: number;
  /** To be called when the result has been sent. */
  readonly onSent?: () => void;
}

/** How a request ended; the numbers are the engine's. */
const statuses = { ok: 0, errno: 1, invalid: 2, failed: 3, later: 4 } as const;

/** Whether the engine would have had to wait. */
export function isPostponed(answer: Buffer): boolean {
  return answer.readUInt32LE(8) === statuses.later;
}

/** The length of the payload and the id of the request, from the head of an answer. */
export function readAnswerHead(head: Buffer): { payloadBytes: number; id: number } {
  return { payloadBytes: head.readUInt32LE(0), id: head.readUInt32LE(4) };
}

/** The result in an answer; throws the error if it is one. */
export function resultOf(answer: Buffer): ResultText {
  const start = ANSWER_ROOM_BEFORE;
  const end = start + answer.readUInt32LE(0);
  const status = answer.readUInt32LE(8);
  const number = answer.readUInt32LE(12);
  if (status === statuses.ok) return number === 0 ? { buffer: answer, start, end } : withErrorTexts(answer, start, end);
  if (status === statuses.invalid) throw new ExecError('invalidRequest', answer.toString('utf8', start, end));
  if (status === statuses.failed) throw new ExecError('internal', answer.toString('utf8', start, end));
  throw osError(number);
}

export function osError(errno: number): ExecError {
  return new ExecError(kinds[errno] ?? 'internal', osErrorText(errno), { details: { errno: errorName(errno) } });
}

/** The errors that a caller can mend; all others are internal. */
const kinds: Readonly<Record<number, ErrorKind>> = {
  1: 'invalidRequest', // EPERM
  2: 'notFound', // ENOENT
  13: 'invalidRequest', // EACCES
  22: 'invalidRequest', // EINVAL
};

/** Replaces the numbers of the errors inside a result by texts, which the engine does not have. */
function withErrorTexts(answer: Buffer, start: number, end: number): ResultText {
  const result = JSON.parse(answer.toString('utf8', start, end)) as { errors: { path: string; message: number }[] };
  const errors = result.errors.map(({ path, message }) => ({ path, message: osErrorText(message) }));
  return resultText({ ...result, errors });
}

/** Whether the result of `search` or `searchOn` is not the last of its search: it ends with the number to go on with. */
export const searchGoesOn = ({ buffer, end }: ResultText): boolean =>
  buffer.toString('latin1', end - SEARCH_OVER.length, end) !== SEARCH_OVER;

const SEARCH_OVER = '"search":0}';

/** A result made in TypeScript, in the form of the engine's. */
export function resultText(result: unknown): ResultText {
  const buffer = Buffer.from(JSON.stringify(result));
  return { buffer, start: 0, end: buffer.length };
}

export const parseResult = ({ buffer, start, end }: ResultText): unknown =>
  JSON.parse(buffer.toString('utf8', start, end));

/** The result must not be used afterwards. */
export const releaseResult = ({ buffer }: ResultText): void => release(buffer);

export const isLarge = ({ start, end }: ResultText): boolean => isWorthReleasing(end - start);
