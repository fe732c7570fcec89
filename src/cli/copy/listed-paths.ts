/**
 * Checks the paths that the other side listed, in their order. A path that could lead out of the listed directory is refused: the
 * other side is not trusted.
 */
export class ListedPaths {
  readonly #listed = new Set<string>();
  readonly #entered = new Set<string>(['']);
  readonly #seen = new Set<string>();

  /** The reason not to use the path; undefined for a path that may be used. */
  problemOf(path: string): string | undefined {
    const names = path.split('/');
    if (!names.every(isFileName) || names.length > DEEPEST) return 'refused: not a name of something in the directory';
    if (this.#seen.has(path)) return 'refused: listed twice';
    this.#seen.add(path);
    const parent = parentOf(path);
    if (this.#entered.has(parent)) return undefined;
    return this.#listed.has(parent) ? 'its directory was not copied' : 'refused: it is in no directory that was listed';
  }

  /** Notes that the other side lists the path as a directory. */
  list(path: string): void {
    this.#listed.add(path);
  }

  /** Notes that the directory has been created: paths below it may be used from now on. */
  enter(path: string): void {
    this.#entered.add(path);
  }
}

/** The depth of the longest path on Linux (4096 bytes). */
const DEEPEST = 2048;

const isFileName = (name: string): boolean => name !== '' && name !== '.' && name !== '..' && !name.includes('\0');

const parentOf = (path: string): string => path.slice(0, Math.max(path.lastIndexOf('/'), 0));
