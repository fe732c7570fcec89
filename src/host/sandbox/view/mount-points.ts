import { look } from './disk.ts';
import type { MountJournal } from './mount-journal.ts';
import { identityOf, isRemoved, keepMountPoint, releaseMountPoint } from './mount-point.ts';
import { isProtectedName } from './protected-names.ts';

interface Use {
  count: number;
  /** The identity of the path's file before the first sandbox; undefined if it was missing. */
  readonly before: string | undefined;
  /** Whether it was made where it was missing, and others were told of its use. */
  isKept?: true;
  /** Keeps other servers from taking it away. */
  kept?: number | undefined;
}

export interface MountPointClaim extends Disposable {
  /**
   * Makes missing mount points and keeps other servers from removing them. To be called before anything may run in the sandbox, and
   * best while bubblewrap is busy with its namespaces.
   */
  keep(): void;
}

/**
 * Mount points on the disk for missing paths. Sandboxes that run at the same time share them; the last one to end
 * removes them, unless something has come to be in them. A mount point that cannot be removed then, because the directory around it
 * was made unwritable meanwhile or a sandbox of another server uses it, is tried again until it can.
 */
export class MountPoints {
  readonly #uses = new Map<string, Use>();
  /** Left where nothing can be removed for now, with the identity they had. */
  readonly #stuck = new Map<string, string>();
  readonly #journal: MountJournal | undefined;
  #retry: NodeJS.Timeout | undefined;

  constructor(journal?: MountJournal) {
    this.#journal = journal;
  }

  /** Counts a sandbox in. */
  claim(paths: readonly string[]): MountPointClaim {
    const fresh = paths.filter((path) => !this.#uses.has(path));
    for (const path of fresh) this.#uses.set(path, { count: 0, before: this.#foundAt(path) });
    for (const path of paths) this.#uses.get(path)!.count++;
    const missing = fresh.filter((path) => this.#uses.get(path)!.before === undefined);
    if (missing.length > 0) this.#journal?.add(missing);
    let held = true;
    return {
      keep: () => {
        for (const path of paths) this.#keep(path);
      },
      [Symbol.dispose]: () => {
        if (!held) return;
        held = false;
        for (const path of paths) this.#letGo(path);
        this.removeStuck();
      },
    };
  }

  /** Tries again to take away what could not be. */
  removeStuck(): void {
    for (const [path, identity] of this.#stuck) {
      const found = look(path);
      if (!found || identityOf(found) !== identity || isRemoved(path, found)) this.#stuck.delete(path);
    }
    while (this.#stuck.size > MOST_STUCK) this.#stuck.delete(this.#stuck.keys().next().value!);
    if (this.#stuck.size === 0) this.#retry = void clearInterval(this.#retry);
    else this.#retry ??= setInterval(() => this.removeStuck(), RETRY_MS).unref();
    if (this.#uses.size === 0 && this.#stuck.size === 0) this.#journal?.clear();
  }

  #keep(path: string): void {
    const use = this.#uses.get(path)!;
    if (use.isKept) return;
    use.isKept = true;
    use.kept = keepMountPoint(path, isProtectedName(path) ? 'directory' : 'file', use.before === undefined);
  }

  /** The identity of a file at the path, unless it is a mount point of ours. */
  #foundAt(path: string): string | undefined {
    const found = look(path);
    const identity = found && identityOf(found);
    if (identity === undefined || this.#stuck.get(path) !== identity) return identity;
    this.#stuck.delete(path);
    return undefined;
  }

  /**
   * A file that was there before us is left alone. It may have been the mount point of another server, which removed it
   * before our sandbox was built: the one that is there now is then ours.
   */
  #letGo(path: string): void {
    const use = this.#uses.get(path)!;
    use.count--;
    if (use.count > 0) return;
    this.#uses.delete(path);
    const found = look(path);
    const identity = found && identityOf(found);
    if (identity === undefined || use.before === identity) releaseMountPoint(use.kept);
    else if (!isRemoved(path, found!, use.kept)) this.#stuck.set(path, identity);
  }
}

/** The journal knows the others. */
const MOST_STUCK = 1024;
const RETRY_MS = 5000;
