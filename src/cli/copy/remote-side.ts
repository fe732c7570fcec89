import { posix } from 'node:path';
import { type ExecServerClient, RemoteFileSystem } from '../../client/index.ts';
import { ExecError, PathUri } from '../../protocol/index.ts';
import {
  BLOCK_BYTES,
  type CopySide,
  conflicts,
  type DestinationTree,
  type Entry,
  type ListedEntry,
  stagingName,
} from './copy-side.ts';
import { PlacementQueue } from './placement-queue.ts';
import { RemotePrograms } from './remote-programs.ts';
import { listTree } from './tree-listing.ts';

/**
 * The files of a server. Content is transferred by `fs/*`; the protocol has no methods for modes, links and renaming, so the server's
 * own `find`, `stat`, `chmod`, `ln` and `mv` do that.
 */
export class RemoteSide implements CopySide {
  readonly #files: RemoteFileSystem;
  readonly #programs: RemotePrograms;
  readonly #placements: PlacementQueue;

  constructor(client: ExecServerClient) {
    this.#files = new RemoteFileSystem(client);
    this.#programs = new RemotePrograms(client);
    this.#placements = new PlacementQueue(this.#programs);
  }

  async entryAt(path: string): Promise<Entry | undefined> {
    try {
      const { isDirectory, isFile, size } = await this.#files.getMetadata(PathUri.fromNative(path));
      if (!isDirectory && !isFile) return { kind: 'special', description: 'neither a file nor a directory' };
      const mode = Number.parseInt(await this.#programs.output(['stat', '-L', '-c', '%a', '--', path]), 8) & 0o777;
      return isDirectory ? { kind: 'directory', mode } : { kind: 'file', size, mode };
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  list(directory: string): AsyncIterable<ListedEntry> {
    return listTree(this.#programs, directory);
  }

  async *read(path: string, size: number): AsyncGenerator<Uint8Array> {
    const uri = PathUri.fromNative(path);
    if (size <= BLOCK_BYTES) yield await this.#files.readFile(uri);
    else yield* this.#files.read(uri);
  }

  async createRoot(path: string): Promise<'created' | 'existed'> {
    const present = await metadata(this.#files, path);
    if (present?.isDirectory) return 'existed';
    if (present) throw new Error(conflicts.file);
    await this.#files.createDirectory(PathUri.fromNative(path));
    return 'created';
  }

  async openTree(directory: string): Promise<DestinationTree> {
    const name = stagingName();
    const root = (await this.#programs.output(['sh', '-c', OPEN, 'sh', directory, name])).slice(0, -1);
    return new RemoteTree(root, name, this.#files, this.#placements);
  }
}

/** Makes the private directory and prints the path of its parent, with symbolic links resolved. */
const OPEN = 'mkdir -m 700 -- "$1/$2" && cd -P -- "$1" && pwd -P';

class RemoteTree implements DestinationTree {
  readonly staging: string;
  readonly #root: string;
  readonly #files: RemoteFileSystem;
  readonly #placements: PlacementQueue;
  /** A directory in the private directory for each destination directory: files have their final names there and are moved together. */
  readonly #stagings = new Map<string, Promise<string>>();
  #next = 0;
  #isCleared = false;

  constructor(root: string, name: string, files: RemoteFileSystem, placements: PlacementQueue) {
    this.staging = posix.join(root, name);
    this.#root = root;
    this.#files = files;
    this.#placements = placements;
  }

  async createDirectory(name: string): Promise<'created' | 'existed'> {
    const path = posix.join(this.#root, name);
    const present = await metadata(this.#files, path);
    if (!present) {
      await this.#files.createDirectory(PathUri.fromNative(path), { recursive: false });
      return 'created';
    }
    if (present.isSymlink) throw new Error(conflicts.link);
    if (!present.isDirectory) throw new Error(conflicts.file);
    return 'existed';
  }

  setMode(name: string, mode: number): Promise<void> {
    return this.#placements.add({ type: 'mode', mode, path: posix.join(this.#root, name) });
  }

  async placeFile(name: string, mode: number, content: AsyncIterable<Uint8Array>, size: number): Promise<void> {
    const directory = posix.dirname(posix.join(this.#root, name));
    const unfinished = posix.join(await this.#stagingFor(directory), posix.basename(name));
    try {
      await this.#write(PathUri.fromNative(unfinished), content, size);
      await this.#placements.add({ type: 'file', mode, unfinished, directory });
    } catch (error) {
      await this.#files.remove(PathUri.fromNative(unfinished)).catch(() => {}); // `close` tries again
      throw error;
    }
  }

  placeLink(name: string, target: string): Promise<void> {
    const path = posix.join(this.#root, name);
    return this.#placements.add({ type: 'link', target, unfinished: this.#unfinished(), path });
  }

  async clear(): Promise<void> {
    await this.#files.remove(PathUri.fromNative(this.staging));
    this.#isCleared = true;
  }

  async close(): Promise<void> {
    if (!this.#isCleared) await this.clear();
  }

  async #write(path: PathUri, content: AsyncIterable<Uint8Array>, size: number): Promise<void> {
    if (size > BLOCK_BYTES) {
      await this.#files.write(path, content);
      return;
    }
    const parts: Uint8Array[] = [];
    for await (const bytes of content) parts.push(bytes);
    await this.#files.writeFile(path, Buffer.concat(parts));
  }

  #stagingFor(directory: string): Promise<string> {
    const known = this.#stagings.get(directory);
    if (known) return known;
    const path = this.#unfinished();
    const made = this.#files.createDirectory(PathUri.fromNative(path), { recursive: false }).then(() => path);
    this.#stagings.set(directory, made);
    return made;
  }

  #unfinished(): string {
    return posix.join(this.staging, String(this.#next++));
  }
}

async function metadata(files: RemoteFileSystem, path: string): Promise<Metadata | undefined> {
  try {
    return await files.getMetadata(PathUri.fromNative(path));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

type Metadata = Awaited<ReturnType<RemoteFileSystem['getMetadata']>>;

const isNotFound = (error: unknown): boolean => error instanceof ExecError && error.kind === 'notFound';
