import { realpathSync } from 'node:fs';
import { posix } from 'node:path';
import type { AccessPolicy } from '../../host/sandbox/index.ts';

type Access = AccessPolicy['rules'][number]['access'];

/** The paths that commands could have changed. */
export interface WritablePaths {
  has(path: string): boolean;
}

/** The paths that the commands of one sandbox could have changed. */
export class SandboxWritablePaths implements WritablePaths {
  readonly #everything: boolean;
  readonly #rules = new Map<string, Access>();

  constructor(policy: AccessPolicy) {
    this.#everything = policy.unrestricted;
    for (const { path, access } of policy.rules) {
      this.#rules.set(path, access);
      // Where the path is a link, its target is writable.
      if (access === 'write') this.#rules.set(realPath(path), access);
    }
  }

  /** Follows the rule of the nearest directory above. */
  has(path: string): boolean {
    if (this.#everything || isInProc(path)) return true;
    for (let at = posix.normalize(path); ; at = posix.dirname(at)) {
      const access = this.#rules.get(at);
      if (access !== undefined) return access === 'write';
      if (at === '/') return false;
    }
  }
}

/** Sandboxes that are remembered; with more of them every path counts as writable. */
const MOST_SANDBOXES = 256;

/** Remembers the paths of earlier sandboxes: files that a call has written are still there for the next one. */
export class WritablePathMemory implements WritablePaths {
  readonly #known = new Map<string, WritablePaths>();

  /** The paths of a sandbox, and of all before it. */
  with(policy: AccessPolicy): WritablePaths {
    const own = new SandboxWritablePaths(policy);
    const key = JSON.stringify(policy.rules);
    // Calls without a sandbox are not remembered: they were trusted with everything.
    if (!policy.unrestricted && this.#known.size <= MOST_SANDBOXES) this.#known.set(key, own);
    return { has: (path) => own.has(path) || this.has(path) };
  }

  has(path: string): boolean {
    return this.#known.size > MOST_SANDBOXES || [...this.#known.values()].some((paths) => paths.has(path));
  }
}

/** Links in procfs lead where a process wants them to, and `self` differs for every process. */
const isInProc = (path: string): boolean => /^\/proc(\/|$)/.test(path);

function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path; // nothing is there yet
  }
}
