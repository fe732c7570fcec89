import { realpathSync } from 'node:fs';
import { posix } from 'node:path';
import type { Policy } from '../sandbox/index.ts';

type Access = Policy['rules'][number]['access'];

/** Which places of the disk the commands of a sandbox could have changed. */
export class WritablePlaces {
  readonly #everything: boolean;
  readonly #rules = new Map<string, Access>();

  constructor(policy: Policy) {
    this.#everything = policy.unrestricted;
    for (const { path, access } of policy.rules) {
      this.#rules.set(path, access);
      // What is writable is what the path leads to.
      if (access === 'write') this.#rules.set(realPath(path), access);
    }
  }

  /** The rule of the nearest directory above counts. */
  has(path: string): boolean {
    if (this.#everything) return true;
    for (let at = posix.normalize(path); ; at = posix.dirname(at)) {
      const access = this.#rules.get(at);
      if (access !== undefined) return access === 'write';
      if (at === '/') return false;
    }
  }
}

function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path; // nothing is there yet
  }
}
