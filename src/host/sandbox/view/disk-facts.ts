import { constants, readlinkSync } from 'node:fs';
import { posix } from 'node:path';
import { firstAnswer, Inspection, type PathStatus, pathStatusOf } from '../../engine/index.ts';
import { pathBytes, pathText } from '../../os/index.ts';

/** The thing at a path, not followed. */
export interface Found {
  readonly kind: 'directory' | 'file' | 'link' | 'other';
  /** Tells it from one that takes its place; numbers are used again, soon, so its birth counts too. */
  readonly identity: string;
  /** Device and inode, as native/shared/pin.h reads them. */
  readonly pin: string;
}

/** The kinds of questions, by the letters of native/fs/stat.c. */
type Letter = 'l' | 's' | 'r' | 'e' | 'b';

/**
 * Facts about the disk, as a plan of mounts needs them. Each question is put once, so that a plan follows from one set of
 * answers; whether they still hold is one question later.
 */
export class DiskFacts {
  /** As the engine gave them: the length of each before it. */
  readonly #answers = new Map<string, Buffer>();

  /** Undefined when it is missing or out of our sight: see `sealAbove`. */
  look(path: string): Found | undefined {
    const status = this.#status('l', path);
    return status && { kind: status.type, identity: status.identity, pin: `${status.device}:${status.inode}` };
  }

  /**
   * The directory that keeps a path out of our sight, if it is our own: a command can change its mode and
   * see more than we do. Other users' directories hide the same from commands as from us.
   */
  sealAbove(path: string): string | undefined {
    if (process.geteuid?.() === 0 || this.look(path) !== undefined) return undefined;
    let above = posix.dirname(path);
    while (above !== '/' && this.look(above) === undefined) above = posix.dirname(above);
    const status = this.#status('s', above);
    if (status?.type !== 'directory') return undefined; // nothing can be below a file
    const isOurs = status.uid === process.geteuid?.();
    return isOurs && (status.mode & constants.S_IXUSR) === 0 ? above : undefined;
  }

  /** Whether the path leads to a directory. */
  isDirectory(path: string): boolean {
    return this.#status('s', path)?.type === 'directory';
  }

  /** The path without symlinks; undefined when nothing is there. */
  realPath(path: string): string | undefined {
    return pathText(this.#ask('r', path)) || undefined;
  }

  /**
   * The links that lead from a path to what is there, in order and each without links in its directory; those that targets of
   * others lead through are among them. A link cannot be changed without becoming another file, which `look` would tell.
   */
  linksOn(path: string): readonly string[] {
    const links: string[] = [];
    const names = namesIn(path);
    let at = '/';
    for (let name = names.shift(); name !== undefined && links.length < MOST_LINKS; name = names.shift()) {
      const next = posix.join(at, name);
      const target = this.look(next)?.kind === 'link' ? targetOf(next) : undefined;
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

  /** False for what we may not read as well: then it is not ours either. */
  isEmptyDirectory(path: string): boolean {
    return this.#ask('e', path).length > 0;
  }

  /**
   * Whether a command of ours, which has no capabilities, could create something in a directory. A server that is root
   * has capabilities the command lacks, so that asking the kernel would give the wrong answer.
   */
  couldCreateIn(directory: string): boolean {
    const status = this.#status('s', directory);
    if (!status) throw new Error(`${directory} has gone away`);
    if (process.geteuid?.() !== 0) return status.writable;
    return isOwn(status) || hasRight(status, WRITE); // an owner may always give itself the right
  }

  /** Whether a command of ours could execute a file, which lies where no link leads on. */
  couldExecute(path: string): boolean {
    for (let at = path; at !== '/'; at = posix.dirname(at)) {
      const status = this.#status('s', at);
      if (!status || !hasRight(status, EXECUTE)) return false;
    }
    return true;
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

  /** The questions so far with their answers. */
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

/** Questions with the answers that were given to them. */
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

/** The bits of a mode for everybody else; those of the group and the owner lie three and six bits above. */
const [WRITE, EXECUTE] = [constants.S_IWOTH, constants.S_IXOTH];

const isOwn = ({ uid }: PathStatus): boolean => uid === process.geteuid?.();

/** Whether the mode gives this user a right, without capabilities. */
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
    return undefined; // it was replaced, which a pin or the check of the mounts finds
  }
}

/** More than the kernel follows. */
const MOST_LINKS = 41;

const EMPTY = Buffer.alloc(0);

/** Git takes what follows one space, others what follows any number. */
const GIT_FILE = [/^gitdir: ([^\0]+?)[\r\n]*$/, /^gitdir: *([^\0]+?)[\r\n]*$/];
const PLAIN_PATH = [/^([^\0]+?)[\r\n]*$/];
