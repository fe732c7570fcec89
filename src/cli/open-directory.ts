import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/** A directory that is held open: a name in it means this directory, also after its path leads elsewhere. */
export class OpenDirectory implements AsyncDisposable {
  readonly #handle: FileHandle;

  private constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  static async open(path: string): Promise<OpenDirectory> {
    return new OpenDirectory(await open(path, constants.O_RDONLY | constants.O_DIRECTORY));
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
      return new OpenDirectory(await open(place, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW));
    }
  }

  setMode(mode: number): Promise<void> {
    return this.#handle.chmod(mode);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }
}
