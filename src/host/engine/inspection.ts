import { constants } from 'node:fs';
import { ANSWER_ROOM_AFTER, ANSWER_ROOM_BEFORE, fileAnswer } from '../os/index.ts';
import { encodeFileRequest, pathList } from './request.ts';

/**
 * Questions about paths, each a letter and a path (native/fs/stat.c): `l` lstat, `s` stat, `r` the real path, `e` whether a
 * directory is empty, `b` the beginning of a file. The engine answers all in one call.
 */
export class Inspection {
  readonly #head: Buffer;
  readonly #questions: Buffer;

  constructor(questions: readonly string[]) {
    this.#questions = pathList(questions);
    this.#head = encodeFileRequest({ operation: 'inspect', payload: this.#questions });
  }

  /** The answers in order, each after its length. */
  answers(): Buffer {
    const answer = fileAnswer(this.#head, this.#questions);
    if (answer.readUInt32LE(8) !== 0) throw new Error('the file engine cannot inspect paths');
    return answer.subarray(ANSWER_ROOM_BEFORE, answer.length - ANSWER_ROOM_AFTER);
  }
}

export function firstAnswer(answers: Buffer): Buffer {
  return answers.subarray(LENGTH_BYTES, LENGTH_BYTES + answers.readUInt32LE(0));
}

/** An answer to `l` or `s`. */
export interface PathStatus {
  readonly type: 'directory' | 'file' | 'link' | 'other';
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly device: bigint;
  readonly inode: bigint;
  /** Device, inode and time of birth. */
  readonly identity: string;
  /** Only in answers to `s`: whether this user may write, or could give itself the permission. */
  readonly writable: boolean;
}

/** Undefined when the path is missing or out of reach. */
export function pathStatusOf(answer: Buffer): PathStatus | undefined {
  if (answer.readUInt32LE(SEEN) === 0) return undefined;
  const mode = answer.readUInt32LE(MODE);
  return {
    type: types[mode & constants.S_IFMT] ?? 'other',
    mode,
    uid: answer.readUInt32LE(UID),
    gid: answer.readUInt32LE(GID),
    device: answer.readBigUInt64LE(DEVICE),
    inode: answer.readBigUInt64LE(INODE),
    identity: answer.toString('latin1', DEVICE, BIRTH_END),
    writable: answer.readUInt32LE(WRITABLE) !== 0,
  };
}

const types: Readonly<Record<number, PathStatus['type']>> = {
  [constants.S_IFDIR]: 'directory',
  [constants.S_IFREG]: 'file',
  [constants.S_IFLNK]: 'link',
};

const LENGTH_BYTES = 4;

/** Offsets of the members of `struct path_status` in native/fs/stat.c. */
const [SEEN, MODE, UID, GID, DEVICE, INODE, BIRTH_END, WRITABLE] = [0, 4, 8, 12, 16, 24, 44, 44];
