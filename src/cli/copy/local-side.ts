import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, readlink, rename, rm, stat, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  BLOCK_BYTES,
  type CopySide,
  conflicts,
  type DestinationTree,
  type Entry,
  entryOf,
  type ListedEntry,
  stagingName,
} from './copy-side.ts';
import { OpenDirectory } from './open-directory.ts';
import { reasonOf } from './reason.ts';

/** The files of this machine. */
export class LocalSide implements CopySide {
  async entryAt(path: string): Promise<Entry | undefined> {
    try {
      const { mode, size } = await stat(path);
      return entryOf(mode, size, () => '');
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
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
        const target = (mode & constants.S_IFMT) === constants.S_IFLNK ? await readlink(place, 'buffer') : '';
        const entry = entryOf(mode, size, () => String(target));
        if (entry.kind === 'link' && Buffer.compare(Buffer.from(entry.target), Buffer.from(target)) !== 0) {
          yield { path, problem: 'it is a link whose target is not UTF-8' };
          continue;
        }
        yield { path, entry };
        if (entry.kind === 'directory') yield* this.list(place, `${path}/`);
      } catch (error) {
        yield { path, problem: reasonOf(error) };
      }
    }
  }

  async *read(path: string): AsyncGenerator<Uint8Array> {
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    for (;;) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(BLOCK_BYTES));
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  }

  async createRoot(path: string): Promise<'created' | 'existed'> {
    try {
      await mkdir(path, { mode: PRIVATE });
      return 'created';
    } catch (error) {
      if (codeOf(error) === 'ENOENT' && !(await this.entryAt(dirname(path)))) {
        await this.createRoot(dirname(path)); // `recursive` would loop for ever in procfs
        return await this.createRoot(path);
      }
      if (codeOf(error) !== 'EEXIST') throw error;
    }
    if ((await this.entryAt(path))?.kind !== 'directory') throw new Error(conflicts.file);
    return 'existed';
  }

  async openTree(directory: string): Promise<DestinationTree> {
    const root = await OpenDirectory.open(directory);
    try {
      const name = stagingName();
      await mkdir(root.at(name), { mode: PRIVATE });
      return new LocalTree(root, name, join(directory, name));
    } catch (error) {
      await root[Symbol.asyncDispose]();
      throw error;
    }
  }
}

/** Directories get their final mode when everything is in them. */
const PRIVATE = 0o700;

class LocalTree implements DestinationTree {
  readonly staging: string;
  readonly #root: OpenDirectory;
  readonly #stagingName: string;
  #next = 0;
  #isCleared = false;

  constructor(root: OpenDirectory, name: string, staging: string) {
    this.#root = root;
    this.#stagingName = name;
    this.staging = staging;
  }

  async createDirectory(name: string): Promise<'created' | 'existed'> {
    await using parent = await this.#parentOf(name);
    const place = parent.at(basename(name));
    try {
      await mkdir(place, { mode: PRIVATE });
      return 'created';
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
    const present = await lstat(place);
    if (present.isSymbolicLink()) throw new Error(conflicts.link);
    if (!present.isDirectory()) throw new Error(conflicts.file);
    return 'existed';
  }

  async setMode(name: string, mode: number): Promise<void> {
    await using directory = await this.#root.enter(name);
    await directory.setMode(mode);
  }

  async placeFile(name: string, mode: number, content: AsyncIterable<Uint8Array>): Promise<void> {
    await this.#place(name, async (unfinished) => {
      await using file = await open(unfinished, 'wx', 0o600);
      for await (const bytes of content) await writeAll(file, bytes);
      await file.chmod(mode);
    });
  }

  async placeLink(name: string, target: string): Promise<void> {
    await this.#place(name, (unfinished) => symlink(target, unfinished));
  }

  async clear(): Promise<void> {
    await rm(this.#root.at(this.#stagingName), { recursive: true, force: true });
    this.#isCleared = true;
  }

  async close(): Promise<void> {
    await using _root = this.#root;
    if (!this.#isCleared) await this.clear();
  }

  async #place(name: string, create: (unfinished: string) => Promise<void>): Promise<void> {
    const unfinished = this.#root.at(join(this.#stagingName, String(this.#next++)));
    try {
      await create(unfinished);
      await using parent = await this.#parentOf(name);
      await rename(unfinished, parent.at(basename(name)));
    } catch (error) {
      await rm(unfinished, { force: true });
      throw codeOf(error) === 'EISDIR' ? new Error(conflicts.directory) : error;
    }
  }

  #parentOf(name: string): Promise<OpenDirectory> {
    return this.#root.enter(name.slice(0, Math.max(name.lastIndexOf('/'), 0)));
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;
