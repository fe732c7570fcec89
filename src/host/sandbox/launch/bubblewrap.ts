import { ExecError } from '../../../protocol/index.ts';
import { isAdministratorsFile } from './administrators-file.ts';
import { tryBubblewrap, tryBubblewrapLater } from './bubblewrap-trial.ts';

export interface UsableBubblewrap {
  readonly usable: true;
  readonly path: string;
  /** Whether a procfs of its own can be mounted. */
  readonly proc: boolean;
}

interface UnusableBubblewrap {
  readonly usable: false;
  readonly reason: string;
  readonly remedy: string;
}

/** The bubblewrap of a machine, or why there is none. */
export type Bubblewrap = UsableBubblewrap | UnusableBubblewrap;

export function requireUsable(bubblewrap: Bubblewrap): UsableBubblewrap {
  if (bubblewrap.usable) return bubblewrap;
  const { reason, remedy } = bubblewrap;
  throw new ExecError('internal', `sandboxed commands cannot run: ${reason}; fix: ${remedy}`);
}

/** Not searched on PATH: a program that a command could have put there would run outside every sandbox. */
const PATHS: readonly string[] = ['/usr/bin/bwrap', '/bin/bwrap', '/usr/local/bin/bwrap'];

/** Finds out whether bubblewrap works here, at most once. */
export class InstalledBubblewrap {
  readonly #paths: readonly string[];
  #found: Bubblewrap | undefined;

  constructor(paths = PATHS) {
    this.#paths = paths;
  }

  /** The result of a trial, which blocks for some milliseconds the first time. */
  tried(): Bubblewrap {
    this.#found ??= tryBubblewrap(this.#paths);
    return this.#found;
  }

  /** `tried` without blocking the event loop. */
  async triedLater(): Promise<Bubblewrap> {
    if (!this.#found) {
      const found = await tryBubblewrapLater(this.#paths);
      this.#found ??= found; // a blocking trial may have ended first
    }
    return this.#found;
  }

  /** Without a trial, as an installed bubblewrap usually works: for callers that notice when a sandbox cannot be made. */
  presumed(): Bubblewrap {
    const path = this.#found ? undefined : this.#paths.find(isAdministratorsFile);
    return path === undefined ? this.tried() : { usable: true, path, proc: true };
  }

  /** To be called when a sandbox was built with every option that commands rely on: no trial is needed any more. */
  confirm(): void {
    this.#found ??= this.presumed();
  }
}
