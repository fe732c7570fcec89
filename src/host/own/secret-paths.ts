import { resolve } from 'node:path';

/**
 * The files and directories that hold this program's own secrets: tokens, keys, sessions, state, sockets. The command line
 * adds those that its flags and variables name. Every sandbox has them masked, and sandboxed file calls are refused there.
 */
export class SecretPaths {
  #paths: readonly string[] = [];

  /** Absolute paths; the same array until another path is added. */
  get paths(): readonly string[] {
    return this.#paths;
  }

  /** Relative paths are resolved against the working directory. A missing path is masked in later sandboxes, once it exists. */
  add(...paths: readonly (string | undefined)[]): void {
    const given = paths.filter((path) => path !== undefined && path !== '').map((path) => resolve(path as string));
    const added = given.filter((path) => !this.#paths.includes(path));
    if (added.length > 0) this.#paths = [...this.#paths, ...added];
  }
}

/** The secrets of this process, which all its sandboxes mask. */
export const secretPaths = new SecretPaths();
