import { rmdirSync, unlinkSync } from 'node:fs';
import { look } from './disk.ts';
import type { MountJournal } from './mount-journal.ts';

/**
 * The mount points bubblewrap creates on the disk for what is missing there. Sandboxes that run at the same time share
 * them; the last one to end takes them away again, unless something has come to be in them.
 */
export class MountPoints {
  readonly #users = new Map<string, number>();
  readonly #journal: MountJournal | undefined;

  constructor(journal?: MountJournal) {
    this.#journal = journal;
  }

  /** Counts a sandbox in. What is there already, and not through us, is left alone. */
  claim(paths: readonly string[]): Disposable {
    const claimed = paths.filter((path) => this.#users.has(path) || look(path) === undefined);
    const fresh = claimed.filter((path) => !this.#users.has(path));
    if (fresh.length > 0) this.#journal?.add(fresh);
    for (const path of claimed) this.#users.set(path, (this.#users.get(path) ?? 0) + 1);
    let held = true;
    return {
      [Symbol.dispose]: () => {
        if (!held) return;
        held = false;
        for (const path of claimed) this.#letGo(path);
        if (this.#users.size === 0 && claimed.length > 0) this.#journal?.clear();
      },
    };
  }

  #letGo(path: string): void {
    const left = this.#users.get(path)! - 1;
    if (left > 0) {
      this.#users.set(path, left);
      return;
    }
    this.#users.delete(path);
    removeIfEmpty(path);
  }
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
