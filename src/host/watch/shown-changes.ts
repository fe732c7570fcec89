import { PathUri } from '../../protocol/index.ts';
import { pathText } from '../os/index.ts';
import type { PathChange } from './watch-process.ts';

/** The text of a path, of which bytes that are no UTF-8 are kept. */
export function textOf(uri: string): string {
  const path = PathUri.parse(uri).toNative();
  return typeof path === 'string' ? path : pathText(path);
}

/** Leaves out of changes what a sandbox may not know of. */
export class ShownChanges {
  readonly #isReadable: (path: string) => boolean;
  readonly #base: string;
  readonly #root: string;

  /** Changes are told by the path that was asked for, `base`; rules are about where it leads, `root`. */
  constructor(isReadable: (path: string) => boolean, base: string, root: string) {
    this.#isReadable = isReadable;
    this.#base = base === '/' ? '' : base;
    this.#root = root === '/' ? '' : root;
  }

  of(changes: readonly PathChange[]): PathChange[] {
    return changes.flatMap((change) => this.#shown(change) ?? []);
  }

  #shown(change: PathChange): PathChange | undefined {
    const { path, from } = change;
    const isShown = this.#isShown(path);
    if (from === undefined) return isShown ? change : undefined;
    const wasShown = this.#isShown(from);
    if (isShown) return wasShown ? change : { path, kind: 'created' };
    return wasShown ? { path: from, kind: 'removed' } : undefined;
  }

  #isShown(uri: string): boolean {
    return this.#isReadable(`${this.#root}${textOf(uri).slice(this.#base.length)}` || '/');
  }
}
