import { entryAt } from './disk.ts';
import type { MountJournal } from './mount-journal.ts';
import { identityOf, lockMountPoint, removeMountPoint, unlockMountPoint } from './mount-point.ts';
import { isProtectedName } from './protected-names.ts';

interface Use {
  count: number;
  /** The identity of the path's file before the first sandbox; undefined if it was missing. */
  readonly before: string | undefined;
  isPrepared?: true;
  /** A locked descriptor that keeps other servers from removing the mount point. */
  lock?: number | undefined;
}

export interface MountPointClaim extends Disposable {
  /**
   * Makes missing mount points and keeps other servers from removing them. To be called before anything may run in the sandbox, and
   * best while bubblewrap is busy with its namespaces.
   */
  prepare(): void;
}

/**
 * Mount points on the disk for missing paths. Sandboxes that run at the same time share them; the last one to end
 * removes them, unless they are not empty any more. A mount point that cannot be removed then, because the directory around it
 * was made unwritable meanwhile or a sandbox of another server uses it, is tried again until it can.
 */
export class MountPoints {
  readonly #uses = new Map<string, Use>();
  /** Mount points that could not be removed, with their identities. */
  readonly #stuck = new Map<string, string>();
  readonly #journal: MountJournal | undefined;
  #retry: NodeJS.Timeout | undefined;

  constructor(journal?: MountJournal) {
    this.#journal = journal;
  }

  /** Counts one more sandbox for each path. */
  claim(paths: readonly string[]): MountPointClaim {
    const fresh = paths.filter((path) => !this.#uses.has(path));
    for (const path of fresh) this.#uses.set(path, { count: 0, before: this.#identityBefore(path) });
    for (const path of paths) this.#uses.get(path)!.count++;
    const missing = fresh.filter((path) => this.#uses.get(path)!.before === undefined);
    if (missing.length > 0) this.#journal?.add(missing);
    let held = true;
    return {
      prepare: () => {
        for (const path of paths) this.#prepare(path);
      },
      [Symbol.dispose]: () => {
        if (!held) return;
        held = false;
        for (const path of paths) this.#release(path);
        this.removeStuck();
      },
    };
  }

  /** Tries again to remove the mount points that could not be removed. */
  removeStuck(): void {
    for (const [path, identity] of this.#stuck) {
      const found = entryAt(path);
      if (!found || identityOf(found) !== identity || removeMountPoint(path, found)) this.#stuck.delete(path);
    }
    while (this.#stuck.size > MOST_STUCK) this.#stuck.delete(this.#stuck.keys().next().value!);
    if (this.#stuck.size === 0) this.#retry = void clearInterval(this.#retry);
    else this.#retry ??= setInterval(() => this.removeStuck(), RETRY_MS).unref();
    if (this.#uses.size === 0 && this.#stuck.size === 0) this.#journal?.clear();
  }

  #prepare(path: string): void {
    const use = this.#uses.get(path)!;
    if (use.isPrepared) return;
    use.isPrepared = true;
    use.lock = lockMountPoint(path, isProtectedName(path) ? 'directory' : 'file', use.before === undefined);
  }

  /** The identity of a file at the path, unless it is a mount point that this server failed to remove. */
  #identityBefore(path: string): string | undefined {
    const found = entryAt(path);
    const identity = found && identityOf(found);
    if (identity === undefined || this.#stuck.get(path) !== identity) return identity;
    this.#stuck.delete(path);
    return undefined;
  }

  /**
   * A file that was there before is left alone. It may have been the mount point of another server, which removed it
   * before bubblewrap built this sandbox: then the file that is there now was made for this sandbox.
   */
  #release(path: string): void {
    const use = this.#uses.get(path)!;
    use.count--;
    if (use.count > 0) return;
    this.#uses.delete(path);
    const found = entryAt(path);
    const identity = found && identityOf(found);
    if (identity === undefined || use.before === identity) unlockMountPoint(use.lock);
    else if (!removeMountPoint(path, found!, use.lock)) this.#stuck.set(path, identity);
  }
}

/** Above this number the oldest are left to the journal, and so to the next server. */
const MOST_STUCK = 1024;
const RETRY_MS = 5000;
