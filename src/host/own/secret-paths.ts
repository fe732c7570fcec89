import { resolve } from 'node:path';

/**
 * The files and directories that hold this program's own secrets: tokens, keys, sessions, state, sockets. The command line
 * adds those that its flags and variables name. Every sandbox has them masked, and sandboxed file calls are refused there.
 */
export class SecretPaths {
  #paths: readonly string[] = [];

  /** Absolute paths; the same array until one is added. */
  get paths(): readonly string[] {
    return this.#paths;
  }

  /** Relative paths count from the working directory. What does not exist yet is masked as soon as it does. */
  add(...paths: readonly (string | undefined)[]): void {
    const given = paths.filter((path) => path !== undefined && path !== '').map((path) => resolve(path as string));
    const added = given.filter((path) => !this.#paths.includes(path));
    if (added.length > 0) this.#paths = [...this.#paths, ...added];
  }
}

/** Those of this process: what one sandbox has to mask, all have. */
export const secretPaths = new SecretPaths();
