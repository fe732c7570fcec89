import { ExecError } from '../../../protocol/index.ts';
import { isAdministratorsFile } from './administrators-file.ts';
import { examine, examineLater } from './bubblewrap-trial.ts';

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

/** What a machine offers for sandboxes. */
export type Bubblewrap = UsableBubblewrap | UnusableBubblewrap;

export function requireUsable(bubblewrap: Bubblewrap): UsableBubblewrap {
  if (bubblewrap.usable) return bubblewrap;
  const { reason, remedy } = bubblewrap;
  throw new ExecError('internal', `sandboxed commands cannot run: ${reason}; fix: ${remedy}`);
}

/** Never from a PATH: a program that a command could have put there would run outside every sandbox. */
const PLACES: readonly string[] = ['/usr/bin/bwrap', '/bin/bwrap', '/usr/local/bin/bwrap'];

/** The one value that knows whether bubblewrap works here: it is looked for and tried at most once. */
export class InstalledBubblewrap {
  readonly #places: readonly string[];
  #found: Bubblewrap | undefined;

  constructor(places = PLACES) {
    this.#places = places;
  }

  /** As a trial found it, which blocks for some milliseconds unless it is over. */
  tried(): Bubblewrap {
    this.#found ??= examine(this.#places);
    return this.#found;
  }

  /** The same while the event loop goes on. */
  async triedLater(): Promise<Bubblewrap> {
    if (!this.#found) {
      const found = await examineLater(this.#places);
      this.#found ??= found; // a trial that blocked may have been faster
    }
    return this.#found;
  }

  /** What works on almost every machine where a file is in place: for callers to which a sandbox that fails says enough. */
  presumed(): Bubblewrap {
    const path = this.#found ? undefined : this.#places.find(isAdministratorsFile);
    return path === undefined ? this.tried() : { usable: true, path, proc: true };
  }

  /** A real sandbox was built with every option that commands rely on, so the trial is skipped. */
  confirm(): void {
    this.#found ??= this.presumed();
  }
}
