import { constants, readlinkSync } from 'node:fs';
import { posix } from 'node:path';
import { firstAnswer, Inspection, type PathStatus, pathStatusOf } from '../../engine/index.ts';
import { pathBytes, pathText } from '../../os/index.ts';

/** A file, directory or link. */
export interface DiskEntry {
  readonly kind: 'directory' | 'file' | 'link' | 'other';
  /** Device, inode and time of birth: another entry that replaces it at once may get the same inode. */
  readonly identity: string;
  /** Device and inode, as native/shared/pin.h reads them. */
  readonly pin: string;
}

/** The kinds of questions: see `Inspection`. */
type Letter = 'l' | 's' | 'r' | 'e' | 'b';

/**
 * Facts about the disk for a plan of mounts. Each question is asked once, so that a plan follows from one set of answers, and
 * one call of the engine tells later whether they still hold.
 */
export class DiskFacts {
  /** Each as the engine gave it, after its length. */
  readonly #answers = new Map<string, Buffer>();

  /** The entry at a path, of a link itself; undefined when it is missing or out of reach: see `closedDirectoryAbove`. */
  entryAt(path: string): DiskEntry | undefined {
    const status = this.#status('l', path);
    return status && { kind: status.type, identity: status.identity, pin: `${status.device}:${status.inode}` };
  }

  /**
   * The directory that this user may not search, and because of which nothing is known about a path, if this user owns it: a
   * command can change its mode and reach more than this process. Directories of other users stop commands as well.
   */
  closedDirectoryAbove(path: string): string | undefined {
    if (process.geteuid?.() === 0 || this.entryAt(path) !== undefined) return undefined;
    let above = posix.dirname(path);
    while (above !== '/' && this.entryAt(above) === undefined) above = posix.dirname(above);
    const status = this.#status('s', above);
    if (status?.type !== 'directory') return undefined; // nothing can be below a file
    return isOwn(status) && (status.mode & constants.S_IXUSR) === 0 ? above : undefined;
  }

  /** Whether the path leads to a directory. */
  isDirectory(path: string): boolean {
    return this.#status('s', path)?.type === 'directory';
  }

  /** The path without symlinks; undefined when it is missing. */
  realPath(path: string): string | undefined {
    return pathText(this.#ask('r', path)) || undefined;
  }

  /**
   * The links on the way from a path to its real path, in order, each without links in its directory; links in the targets of
   * others are included. A link cannot be changed, only replaced by another entry, which `entryAt` notices.
   */
  linksOn(path: string): readonly string[] {
    const links: string[] = [];
    const names = namesIn(path);
    let at = '/';
    for (let name = names.shift(); name !== undefined && links.length < MOST_LINKS; name = names.shift()) {
      const next = posix.join(at, name);
      const target = this.entryAt(next)?.kind === 'link' ? targetOf(next) : undefined;
      if (target === undefined) {
        at = next;
        continue;
      }
      links.push(next);
      names.unshift(...namesIn(target));
      if (target.startsWith('/')) at = '/';
    }
    return links;
  }

  /** False also for a directory that this user may not read. */
  isEmptyDirectory(path: string): boolean {
    return this.#ask('e', path).length > 0;
  }

  /**
   * Whether a sandboxed command, which has no capabilities, could create a file in a directory. A server that is root
   * has capabilities that the command lacks, so that asking the kernel would give the wrong answer.
   */
  couldCreateIn(directory: string): boolean {
    const status = this.#status('s', directory);
    if (!status) throw new Error(`${directory} was removed while a sandbox was planned; try again`);
    if (process.geteuid?.() !== 0) return status.writable;
    return isOwn(status) || hasRight(status, WRITE); // an owner may always give itself the permission
  }

  /** Whether a sandboxed command could execute a file. The path must be a real path. */
  couldExecute(path: string): boolean {
    for (let at = path; at !== '/'; at = posix.dirname(at)) {
      const status = this.#status('s', at);
      if (!status || !hasRight(status, EXECUTE)) return false;
    }
    return true;
  }

  /**
   * The directories of the repository of a `.git` file: the one that the file names, and the one that worktrees share. A path
   * that different programs resolve differently is given in every sense.
   */
  gitDirectoriesOf(git: string): readonly string[] {
    const named = this.#pathsIn(git, GIT_FILE);
    const owns = named.length > 0 ? named : [git];
    const shared = owns.flatMap((own) => this.#pathsIn(posix.join(own, 'commondir'), PLAIN_PATH));
    return [...new Set([...named, ...shared])];
  }

  /** The paths that a file contains, resolved by their text and by the links that they pass. */
  #pathsIn(file: string, patterns: readonly RegExp[]): readonly string[] {
    const content = pathText(this.#ask('b', this.realPath(file) ?? file));
    const directory = posix.dirname(file);
    return patterns
      .flatMap((pattern) => pattern.exec(content)?.[1] ?? [])
      .flatMap((path) => {
        const plain = posix.resolve(directory, path);
        const real = path.includes('..') ? this.realPath(path.startsWith('/') ? path : `${directory}/${path}`) : plain;
        return [plain, real ?? plain];
      });
  }

  /** All questions so far, with their answers. */
  record(): RecordedFacts {
    return new RecordedFacts(new Inspection([...this.#answers.keys()]), Buffer.concat([...this.#answers.values()]));
  }

  #status(letter: 'l' | 's', path: string): PathStatus | undefined {
    const answer = this.#ask(letter, path);
    return answer.length === 0 ? undefined : pathStatusOf(answer);
  }

  #ask(letter: Letter, path: string): Buffer {
    if (path.includes('\0')) return EMPTY; // no file has such a name
    const question = letter + path;
    let answer = this.#answers.get(question);
    if (answer === undefined) {
      answer = new Inspection([question]).answers();
      this.#answers.set(question, answer);
    }
    return firstAnswer(answer);
  }
}

/** Questions with their answers at an earlier time. */
export class RecordedFacts {
  readonly #inspection: Inspection;
  readonly #answers: Buffer;

  constructor(inspection: Inspection, answers: Buffer) {
    this.#inspection = inspection;
    this.#answers = answers;
  }

  /** Whether the disk would give the same answers now. */
  holds(): boolean {
    return this.#answers.length === 0 || this.#inspection.answers().equals(this.#answers);
  }
}

/** The bits of a mode for other users; those of the group and the owner are three and six bits above. */
const [WRITE, EXECUTE] = [constants.S_IWOTH, constants.S_IXOTH];

const isOwn = ({ uid }: PathStatus): boolean => uid === process.geteuid?.();

/** Whether the mode gives this user a permission, without capabilities. */
function hasRight(status: PathStatus, right: number): boolean {
  const inGroup = status.gid === process.getegid?.() || process.getgroups?.().includes(status.gid) === true;
  const shift = isOwn(status) ? 6 : inGroup ? 3 : 0;
  return (status.mode & (right << shift)) !== 0;
}

const namesIn = (path: string): string[] => path.split('/').filter((name) => name !== '' && name !== '.');

function targetOf(link: string): string | undefined {
  try {
    return pathText(readlinkSync(pathBytes(link), 'buffer'));
  } catch {
    return undefined; // it was replaced, which the comparison of pins or the check of the mounts finds
  }
}

/** More than the kernel follows. */
const MOST_LINKS = 41;

const EMPTY = Buffer.alloc(0);

/** Git takes the text after one space, other programs the text after any number of them. */
const GIT_FILE = [/^gitdir: ([^\0]+?)[\r\n]*$/, /^gitdir: *([^\0]+?)[\r\n]*$/];
const PLAIN_PATH = [/^([^\0]+?)[\r\n]*$/];
