import { constants } from 'node:fs';
import { posix } from 'node:path';
import { ANSWER_ROOM_AFTER, ANSWER_ROOM_BEFORE, fileAnswer, pathBytes, pathText } from '../../os/index.ts';

/** The thing at a path, not followed. */
export interface Found {
  readonly kind: 'directory' | 'file' | 'link' | 'other';
  /** Tells it from one that takes its place; numbers are used again, soon, so its birth counts too. */
  readonly identity: string;
  /** Device and inode, as native/shared/pin.h reads them. */
  readonly pin: string;
}

/** What is asked of the engine; the letters are those of native/fs/stat.c. */
type Letter = 'l' | 's' | 'r' | 'e' | 'b';

/**
 * What a plan asks about the disk. Each question is put once, so that a plan follows from one set of answers; whether
 * they still hold can be found out later at a single stroke.
 */
export class Survey {
  /** As the engine gave them: the length of each before it. */
  readonly #answers = new Map<string, Buffer>();

  /** Undefined when it is missing or out of our sight: see `sealAbove`. */
  look(path: string): Found | undefined {
    const sight = this.#ask('l', path);
    if (sight.readUInt32LE(SEEN) === 0) return undefined;
    const kind = kinds[sight.readUInt32LE(MODE) & constants.S_IFMT] ?? 'other';
    const pin = `${sight.readBigUInt64LE(DEVICE)}:${sight.readBigUInt64LE(INODE)}`;
    return { kind, identity: sight.toString('latin1', DEVICE, BIRTH_END), pin };
  }

  /**
   * The directory that keeps a path out of our sight, if it is our own: what it hides from us it hides from a command only
   * until that changes its mode. Other users' directories hide from commands what they hide from us.
   */
  sealAbove(path: string): string | undefined {
    if (process.geteuid?.() === 0 || this.look(path) !== undefined) return undefined;
    let above = posix.dirname(path);
    while (above !== '/' && this.look(above) === undefined) above = posix.dirname(above);
    const sight = this.#ask('s', above);
    if (!this.isDirectory(above)) return undefined; // nothing can be below a file
    const isOurs = sight.readUInt32LE(SEEN) !== 0 && sight.readUInt32LE(UID) === process.geteuid?.();
    return isOurs && (sight.readUInt32LE(MODE) & constants.S_IXUSR) === 0 ? above : undefined;
  }

  /** Whether the path leads to a directory. */
  isDirectory(path: string): boolean {
    const sight = this.#ask('s', path);
    return (sight.readUInt32LE(MODE) & constants.S_IFMT) === constants.S_IFDIR;
  }

  /** The path without symlinks; undefined when nothing is there. */
  realPath(path: string): string | undefined {
    return pathText(this.#ask('r', path)) || undefined;
  }

  /** False for what we may not read as well: then it is not ours either. */
  isEmptyDirectory(path: string): boolean {
    return this.#ask('e', path).length > 0;
  }

  /**
   * Whether a command of ours, which has no capabilities, could create something in a directory. A server that is root
   * has capabilities the command lacks, so that asking the kernel would give the wrong answer.
   */
  couldCreateIn(directory: string): boolean {
    const sight = this.#ask('s', directory);
    if (sight.readUInt32LE(SEEN) === 0) throw new Error(`${directory} has gone away`);
    if (process.geteuid?.() !== 0) return sight.readUInt32LE(WRITABLE) !== 0;
    const [mode, uid, gid] = [MODE, UID, GID].map((at) => sight.readUInt32LE(at)) as [number, number, number];
    return allowedByMode(mode, uid, gid);
  }

  /**
   * Where the repository of a `.git` is, if not there: the directory its file names, and the one shared by worktrees. A path
   * that means different places to different programs is given in every sense.
   */
  gitDirectoriesOf(git: string): readonly string[] {
    const named = this.#placesNamed(git, GIT_FILE);
    const owns = named.length > 0 ? named : [git];
    const shared = owns.flatMap((own) => this.#placesNamed(posix.join(own, 'commondir'), PLAIN_PATH));
    return [...new Set([...named, ...shared])];
  }

  /** What the path in a file leads to: by its words, and by the links that it passes. */
  #placesNamed(file: string, patterns: readonly RegExp[]): readonly string[] {
    const content = pathText(this.#ask('b', this.realPath(file) ?? file));
    const directory = posix.dirname(file);
    return patterns
      .flatMap((pattern) => pattern.exec(content)?.[1] ?? [])
      .flatMap((path) => {
        const place = posix.resolve(directory, path);
        const real = path.includes('..') ? this.realPath(path.startsWith('/') ? path : `${directory}/${path}`) : place;
        return [place, real ?? place];
      });
  }

  /** What was asked and answered so far. */
  record(): SurveyRecord {
    return new SurveyRecord(requestFor([...this.#answers.keys()]), Buffer.concat([...this.#answers.values()]));
  }

  #ask(letter: Letter, path: string): Buffer {
    if (path.includes('\0')) return letter === 'l' || letter === 's' ? UNSEEN : EMPTY; // no file has such a name
    const question = letter + path;
    let answer = this.#answers.get(question);
    if (answer === undefined) {
      answer = contentOf(fileAnswer(requestFor([question])));
      this.#answers.set(question, answer);
    }
    return answer.subarray(LENGTH_BYTES);
  }
}

/** Questions with the answers that were given to them. */
export class SurveyRecord {
  readonly #request: Buffer;
  readonly #answers: Buffer;

  constructor(request: Buffer, answers: Buffer) {
    this.#request = request;
    this.#answers = answers;
  }

  /** Whether the disk would give the same answers now. */
  holds(): boolean {
    return this.#answers.length === 0 || contentOf(fileAnswer(this.#request)).equals(this.#answers);
  }
}

function requestFor(questions: readonly string[]): Buffer {
  const body = pathBytes(questions.map((question) => `${question}\0`).join(''));
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32LE(body.length, 0);
  head.writeUInt16LE(INSPECT, 8);
  return Buffer.concat([head, body]);
}

function contentOf(answer: Buffer): Buffer {
  if (answer.readUInt32LE(8) !== 0) throw new Error('the disk cannot be inspected');
  return answer.subarray(ANSWER_ROOM_BEFORE, answer.length - ANSWER_ROOM_AFTER);
}

function allowedByMode(mode: number, uid: number, gid: number): boolean {
  if (uid === process.geteuid?.()) return true; // an owner may always give itself the right
  const inGroup = gid === process.getegid?.() || process.getgroups?.().includes(gid);
  return (mode & (inGroup ? constants.S_IWGRP : constants.S_IWOTH)) !== 0;
}

const kinds: Readonly<Record<number, Found['kind']>> = {
  [constants.S_IFDIR]: 'directory',
  [constants.S_IFREG]: 'file',
  [constants.S_IFLNK]: 'link',
};

/** The operation of the engine (native/fs/engine.h) and the layout of its requests and answers. */
const INSPECT = 13;
const HEAD_BYTES = 48;
const LENGTH_BYTES = 4;
const [SEEN, MODE, UID, GID, DEVICE, INODE, BIRTH_END, WRITABLE] = [0, 4, 8, 12, 16, 24, 44, 44];

const UNSEEN = Buffer.alloc(48);
const EMPTY = Buffer.alloc(0);

/** Git takes what follows one space, others what follows any number. */
const GIT_FILE = [/^gitdir: ([^\0]+?)[\r\n]*$/, /^gitdir: *([^\0]+?)[\r\n]*$/];
const PLAIN_PATH = [/^([^\0]+?)[\r\n]*$/];
