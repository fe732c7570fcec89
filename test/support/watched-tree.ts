import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Changes } from '../../src/base/index.ts';

export interface Change {
  readonly path: string;
  readonly kind: 'created' | 'modified' | 'removed' | 'renamed';
  readonly from?: string;
}

export interface Changed {
  readonly seq: number;
  readonly changes: readonly Change[];
  readonly overflow?: boolean;
  readonly ended?: boolean;
  readonly error?: string;
}

/** The content of a file, `/` for a directory, or that it must be read anew. */
type Known = string | undefined;

/** What a client knows of a directory that was listed once, and of which it was told the changes since. */
export class WatchedTree {
  readonly folder: string;
  readonly known = new Map<string, Known>();
  readonly told: Changed[] = [];
  overflows = 0;
  readonly #arrived = new Changes();
  #barriers = 0;

  constructor(folder: string) {
    this.folder = folder;
    this.#list();
  }

  /** Applies a message; changes are in order. */
  apply(message: Changed): void {
    this.told.push(message);
    if (message.overflow) {
      this.overflows++;
      this.known.clear();
      this.#list(); // as a client would
    }
    for (const { path, kind, from } of message.changes) {
      const at = fileURLToPath(path);
      if (kind === 'removed') this.#remove(at);
      else if (kind === 'renamed') this.#move(fileURLToPath(from!), at);
      else if (at !== this.folder) this.known.set(at, undefined);
    }
    this.#arrived.notify();
  }

  /** Resolves when everything that was done before has been told, or is lost with an overflow after it. */
  async settled(): Promise<void> {
    const name = join(this.folder, `.barrier-${this.#barriers++}`);
    writeFileSync(name, '');
    await this.until(() => this.known.has(name));
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await this.#arrived.next();
  }

  /** What is known and not so: paths that are missing, that are there in vain, and files with other contents than they are known to have. */
  mistakes(): string[] {
    const actual = new Map(contents(this.folder));
    const missing = [...actual.keys()].filter((path) => !this.known.has(path));
    const extra = [...this.known.keys()].filter((path) => !actual.has(path));
    const stale = [...this.known].filter(([path, known]) => {
      return known !== undefined && actual.has(path) && actual.get(path) !== known;
    });
    return [...missing.map((path) => `missing ${path}`), ...extra.map((path) => `extra ${path}`)].concat(
      stale.map(([path]) => `stale ${path}`),
    );
  }

  /** All changes as words, by names relative to the directory, without barriers. */
  words(): string[] {
    const name = (uri: string): string => fileURLToPath(uri).slice(this.folder.length + 1) || '.';
    return this.told
      .flatMap(({ changes }) => changes)
      .filter(({ path }) => !path.includes('/.barrier-'))
      .map(({ path, kind, from }) => [kind, ...(from ? [name(from), '→'] : []), name(path)].join(' '));
  }

  #list(): void {
    for (const [path, content] of contents(this.folder)) this.known.set(path, content);
  }

  #remove(at: string): void {
    for (const path of this.known.keys()) if (path === at || path.startsWith(`${at}/`)) this.known.delete(path);
  }

  #move(from: string, to: string): void {
    const moved = [...this.known].filter(([path]) => path === from || path.startsWith(`${from}/`));
    this.#remove(from);
    this.#remove(to);
    for (const [path, content] of moved) this.known.set(`${to}${path.slice(from.length)}`, content);
    if (moved.length === 0) this.known.set(to, undefined);
  }
}

/** Every path below a directory. */
function* contents(folder: string): Generator<[string, string]> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      yield [path, '/'];
      yield* contents(path);
    } else yield [path, entry.isFile() ? readFileSync(path, 'latin1') : ''];
  }
}
