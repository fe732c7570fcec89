import { posix } from 'node:path';
import { type ExecServerClient, RemoteFileSystem } from '../client/index.ts';
import { ExecError, PathUri } from '../protocol/index.ts';
import { AT_ONCE_BYTES, type CopySide, type Entry, type ListedEntry, type Staging, stagingName } from './copy-side.ts';
import { PlacementQueue } from './placement-queue.ts';
import { RemoteCommands } from './remote-commands.ts';
import { listTree } from './tree-listing.ts';

/**
 * The files of a server. Content moves by `fs/*`; the protocol has no methods for modes, links and renaming, so those are done
 * by the server's own `find`, `stat`, `chmod`, `ln` and `mv`.
 */
export class RemoteSide implements CopySide {
  readonly #files: RemoteFileSystem;
  readonly #commands: RemoteCommands;
  readonly #placements: PlacementQueue;

  constructor(client: ExecServerClient) {
    this.#files = new RemoteFileSystem(client);
    this.#commands = new RemoteCommands(client);
    this.#placements = new PlacementQueue(this.#commands);
  }

  async entryAt(path: string): Promise<Entry | undefined> {
    try {
      const { isDirectory, isFile, size } = await this.#files.getMetadata(PathUri.fromNative(path));
      if (!isDirectory && !isFile) return { kind: 'special', description: 'neither a file nor a directory' };
      const mode = Number.parseInt(await this.#commands.output(['stat', '-L', '-c', '%a', '--', path]), 8) & 0o777;
      return isDirectory ? { kind: 'directory', mode } : { kind: 'file', size, mode };
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  list(directory: string): AsyncIterable<ListedEntry> {
    return listTree(this.#commands, directory);
  }

  async *read(path: string, size: number): AsyncGenerator<Uint8Array> {
    const uri = PathUri.fromNative(path);
    if (size <= AT_ONCE_BYTES) yield await this.#files.readFile(uri);
    else yield* this.#files.read(uri);
  }

  async createRoot(path: string): Promise<'created' | 'existed'> {
    if ((await this.#metadata(path))?.isDirectory) return 'existed';
    await this.#files.createDirectory(PathUri.fromNative(path));
    return 'created';
  }

  async createDirectory(path: string): Promise<'created' | 'existed'> {
    const present = await this.#metadata(path);
    if (!present) {
      await this.#files.createDirectory(PathUri.fromNative(path), { recursive: false });
      return 'created';
    }
    if (present.isSymlink) throw new Error('is a symbolic link where a directory is to be copied; remove it');
    if (!present.isDirectory) throw new Error('is a file where a directory is to be copied; remove it');
    return 'existed';
  }

  setMode(path: string, mode: number): Promise<void> {
    return this.#placements.add({ type: 'mode', mode, path });
  }

  async openStaging(directory: string): Promise<Staging> {
    const path = posix.join(directory, stagingName());
    await this.#commands.output(['mkdir', '-m', '700', '--', path]);
    return new RemoteStaging(path, this.#files, this.#placements);
  }

  async #metadata(path: string) {
    try {
      return await this.#files.getMetadata(PathUri.fromNative(path));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}

class RemoteStaging implements Staging {
  readonly #path: string;
  readonly #files: RemoteFileSystem;
  readonly #placements: PlacementQueue;
  #next = 0;

  constructor(path: string, files: RemoteFileSystem, placements: PlacementQueue) {
    this.#path = path;
    this.#files = files;
    this.#placements = placements;
  }

  async placeFile(path: string, mode: number, content: AsyncIterable<Uint8Array>, size: number): Promise<void> {
    const unfinished = this.#name();
    try {
      await this.#write(PathUri.fromNative(unfinished), content, size);
      await this.#placements.add({ type: 'file', mode, unfinished, path });
    } catch (error) {
      await this.#files.remove(PathUri.fromNative(unfinished)).catch(() => {}); // `close` tries again
      throw error;
    }
  }

  placeLink(path: string, target: string): Promise<void> {
    return this.#placements.add({ type: 'link', target, unfinished: this.#name(), path });
  }

  async close(): Promise<void> {
    await this.#files.remove(PathUri.fromNative(this.#path));
  }

  async #write(path: PathUri, content: AsyncIterable<Uint8Array>, size: number): Promise<void> {
    if (size > AT_ONCE_BYTES) {
      await this.#files.write(path, content);
      return;
    }
    const parts: Uint8Array[] = [];
    for await (const bytes of content) parts.push(bytes);
    await this.#files.writeFile(path, Buffer.concat(parts));
  }

  #name(): string {
    return posix.join(this.#path, String(this.#next++));
  }
}

const isNotFound = (error: unknown): boolean => error instanceof ExecError && error.kind === 'notFound';
