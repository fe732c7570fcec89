import { realpathSync } from 'node:fs';
import { posix } from 'node:path';
import type { Policy } from '../../host/sandbox/index.ts';

type Access = Policy['rules'][number]['access'];

/** Which places of the disk commands could have changed. */
export interface Places {
  has(path: string): boolean;
}

/** Those that the commands of one sandbox could have changed. */
export class WritablePlaces implements Places {
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
    if (this.#everything || isOfProcess(path)) return true;
    for (let at = posix.normalize(path); ; at = posix.dirname(at)) {
      const access = this.#rules.get(at);
      if (access !== undefined) return access === 'write';
      if (at === '/') return false;
    }
  }
}

/** Sandboxes that are told apart; with more of them everything counts as writable. */
const MOST_SANDBOXES = 256;

/** What a call leaves behind is still there when the next one has another sandbox. */
export class PlaceMemory implements Places {
  readonly #known = new Map<string, Places>();

  /** The places of a sandbox, and of all before it. */
  with(policy: Policy): Places {
    const own = new WritablePlaces(policy);
    const key = JSON.stringify(policy.rules);
    // Without a sandbox there is nothing a command could not have done anyway.
    if (!policy.unrestricted && this.#known.size <= MOST_SANDBOXES) this.#known.set(key, own);
    return { has: (path) => own.has(path) || this.has(path) };
  }

  has(path: string): boolean {
    return this.#known.size > MOST_SANDBOXES || [...this.#known.values()].some((places) => places.has(path));
  }
}

/** The links in there lead where a process wants them to, and those of `self` elsewhere for everybody. */
const isOfProcess = (path: string): boolean => /^\/proc(\/|$)/.test(path);

function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path; // nothing is there yet
  }
}
