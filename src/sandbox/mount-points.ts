import { rmdirSync, unlinkSync } from 'node:fs';
import { look } from './disk.ts';
import type { MountJournal } from './mount-journal.ts';

interface Use {
  count: number;
  /** What was there before the first of us; nothing if it was missing. */
  readonly before: string | undefined;
}

/**
 * The mount points bubblewrap creates on the disk for what is missing there. Sandboxes that run at the same time share
 * them; the last one to end takes them away again, unless something has come to be in them.
 */
export class MountPoints {
  readonly #uses = new Map<string, Use>();
  readonly #journal: MountJournal | undefined;

  constructor(journal?: MountJournal) {
    this.#journal = journal;
  }

  /** Counts a sandbox in. */
  claim(paths: readonly string[]): Disposable {
    const fresh = paths.filter((path) => !this.#uses.has(path));
    for (const path of fresh) this.#uses.set(path, { count: 0, before: identityOf(path) });
    for (const path of paths) this.#uses.get(path)!.count++;
    const missing = fresh.filter((path) => this.#uses.get(path)!.before === undefined);
    if (missing.length > 0) this.#journal?.add(missing);
    let held = true;
    return {
      [Symbol.dispose]: () => {
        if (!held) return;
        held = false;
        for (const path of paths) this.#letGo(path);
        if (this.#uses.size === 0) this.#journal?.clear();
      },
    };
  }

  /**
   * What was there before us is left alone. It may have been the mount point of another server, which has taken it
   * away before our sandbox was built: what is there now is then another one, and ours.
   */
  #letGo(path: string): void {
    const use = this.#uses.get(path)!;
    use.count--;
    if (use.count > 0) return;
    this.#uses.delete(path);
    if (use.before === undefined || use.before !== identityOf(path)) removeIfEmpty(path);
  }
}

/** Tells a thing from one that has taken its place; numbers are used again, soon. */
function identityOf(path: string): string | undefined {
  const found = look(path);
  return found && `${found.dev}:${found.ino}:${found.birthtimeMs}`;
}

function removeIfEmpty(path: string): void {
  const found = look(path);
  try {
    if (found?.isDirectory()) rmdirSync(path);
    else if (found?.isFile() && found.size === 0) unlinkSync(path);
  } catch {
    // it is not empty, so it is somebody's now
  }
}
