import { constants } from 'node:fs';
import {
  chmod,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  readlink,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises';
import { join } from 'node:path';
import {
  AT_ONCE_BYTES,
  type CopySide,
  type Entry,
  entryOf,
  type ListedEntry,
  type Staging,
  stagingName,
} from './copy-side.ts';

/** The files of this machine. */
export class LocalSide implements CopySide {
  async entryAt(path: string): Promise<Entry | undefined> {
    try {
      const { mode, size } = await stat(path);
      return entryOf(mode, size, () => '');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  async *list(directory: string, prefix = ''): AsyncGenerator<ListedEntry> {
    for (const bytes of await readdir(directory, { encoding: 'buffer' })) {
      const name = bytes.toString();
      const path = `${prefix}${name}`;
      if (!bytes.equals(Buffer.from(name))) {
        yield { path, problem: 'its name is not UTF-8' };
        continue;
      }
      const place = join(directory, name);
      try {
        const { mode, size } = await lstat(place);
        const target = (mode & constants.S_IFMT) === constants.S_IFLNK ? await readlink(place) : '';
        const entry = entryOf(mode, size, () => target);
        yield { path, entry };
        if (entry.kind === 'directory') yield* this.list(place, `${path}/`);
      } catch (error) {
        yield { path, problem: messageOf(error) };
      }
    }
  }

  async *read(path: string): AsyncGenerator<Uint8Array> {
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    for (;;) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(AT_ONCE_BYTES));
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  }

  async createRoot(path: string): Promise<'created' | 'existed'> {
    if ((await this.entryAt(path))?.kind === 'directory') return 'existed';
    await mkdir(path, { recursive: true });
    return 'created';
  }

  async createDirectory(path: string): Promise<'created' | 'existed'> {
    try {
      await mkdir(path);
      return 'created';
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const present = await lstat(path);
    if (present.isSymbolicLink()) throw new Error('is a symbolic link where a directory is to be copied; remove it');
    if (!present.isDirectory()) throw new Error('is a file where a directory is to be copied; remove it');
    return 'existed';
  }

  setMode(path: string, mode: number): Promise<void> {
    return chmod(path, mode);
  }

  async openStaging(directory: string): Promise<Staging> {
    const path = join(directory, stagingName());
    await mkdir(path, { mode: 0o700 });
    return new LocalStaging(path);
  }
}

class LocalStaging implements Staging {
  readonly #path: string;
  #next = 0;

  constructor(path: string) {
    this.#path = path;
  }

  async placeFile(path: string, mode: number, content: AsyncIterable<Uint8Array>): Promise<void> {
    await this.#place(path, async (unfinished) => {
      await using file = await open(unfinished, 'wx', 0o600);
      for await (const bytes of content) await writeAll(file, bytes);
      await file.chmod(mode);
    });
  }

  async placeLink(path: string, target: string): Promise<void> {
    await this.#place(path, (unfinished) => symlink(target, unfinished));
  }

  async close(): Promise<void> {
    await rm(this.#path, { recursive: true, force: true });
  }

  async #place(path: string, create: (unfinished: string) => Promise<void>): Promise<void> {
    const unfinished = join(this.#path, String(this.#next++));
    try {
      await create(unfinished);
      await rename(unfinished, path);
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
}

/** What went wrong, without the code before it and the call after it. */
export function messageOf(error: unknown): string {
  return (error as Error).message.replace(/^E[A-Z0-9]+: (.*), \w+(?: '.*')?$/s, '$1');
}
