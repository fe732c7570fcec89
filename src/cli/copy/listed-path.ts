/**
 * Paths that the other side listed, one after the other. What could lead out of the directory that was asked for is refused: the
 * other side may lie.
 */
export class ListedPaths {
  readonly #listed = new Set<string>();
  readonly #entered = new Set<string>(['']);
  readonly #seen = new Set<string>();

  /** Why the path must not be used; undefined for one that may. */
  refusal(path: string): string | undefined {
    const names = path.split('/');
    const wrong = names.find((name) => !isFileName(name));
    if (wrong !== undefined || names.length > DEEPEST) return 'refused: not a name of something in the directory';
    if (this.#seen.has(path)) return 'refused: listed twice';
    this.#seen.add(path);
    const parent = parentOf(path);
    if (this.#entered.has(parent)) return undefined;
    return this.#listed.has(parent) ? 'its directory was not copied' : 'refused: it is in no directory that was listed';
  }

  /** The path is told to be a directory. */
  list(path: string): void {
    this.#listed.add(path);
  }

  /** What is listed below this directory may be used from now on. */
  enter(path: string): void {
    this.#entered.add(path);
  }
}

/** As deep as a path of Linux can be. */
const DEEPEST = 2048;

const isFileName = (name: string): boolean => name !== '' && name !== '.' && name !== '..' && !name.includes('\0');

const parentOf = (path: string): string => path.slice(0, Math.max(path.lastIndexOf('/'), 0));
