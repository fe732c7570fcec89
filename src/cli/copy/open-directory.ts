import { constants } from 'node:fs';
import { chmod, type FileHandle, open } from 'node:fs/promises';
import { conflicts } from './copy-side.ts';

/** The flag of Linux, for which Node has no name: opening a directory by it takes no permission to list the directory. */
const O_PATH = 0o10000000;
const DIRECTORY = O_PATH | constants.O_DIRECTORY;

/** An open directory: names are looked up in this directory, also after it was moved or its path was replaced. */
export class OpenDirectory implements AsyncDisposable {
  readonly #handle: FileHandle;

  private constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  static async open(path: string): Promise<OpenDirectory> {
    return new OpenDirectory(await open(path, DIRECTORY));
  }

  /** A path that the system resolves from this directory, for as long as it is open. */
  at(name: string): string {
    return `/proc/self/fd/${this.#handle.fd}/${name}`;
  }

  /** The directory of that relative path, none of whose parts may be a symbolic link; an empty path is this directory. */
  async enter(path: string): Promise<OpenDirectory> {
    let reached = await openStep(this.at('.'));
    for (const name of path.split('/').filter((part) => part !== '')) {
      await using last = reached;
      reached = await openStep(last.at(name));
    }
    return reached;

    async function openStep(place: string): Promise<OpenDirectory> {
      try {
        return new OpenDirectory(await open(place, DIRECTORY | constants.O_NOFOLLOW));
      } catch (error) {
        throw (error as NodeJS.ErrnoException).code === 'ENOTDIR' ? new Error(conflicts.swapped) : error;
      }
    }
  }

  setMode(mode: number): Promise<void> {
    return chmod(this.at('.'), mode);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }
}
