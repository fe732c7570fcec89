import { type FSWatcher, lstatSync, realpathSync, watch } from 'node:fs';
import { dirname } from 'node:path';
import type { NativePath, PathUri } from '../../protocol/index.ts';

/**
 * Tells once when one of several missing paths appears, or when a present one changes or goes away. A client has one
 * watch at a time; a request with a greater id replaces the one before.
 */
export class MissingWatch implements Disposable {
  readonly #onChanged: (watchId: number) => void;
  #newest = 0;
  #armed: ArmedWatch | undefined;

  constructor(onChanged: (watchId: number) => void) {
    this.#onChanged = onChanged;
  }

  /** Whether the watch is armed now. */
  replace(watchId: number, missing: readonly PathUri[], present: PathUri | undefined): boolean {
    if (watchId <= this.#newest) return false;
    this.#newest = watchId;
    this[Symbol.dispose]();
    if (missing.length === 0 || missing.length > MAX_PATHS) return false;
    const paths = [...missing, ...(present ? [present] : [])].map(nativeBuffer);
    if (!paths.every((path) => path !== undefined)) return false; // a path of another host
    if (new Set(paths.flatMap(ancestorsOf)).size > MAX_DIRECTORIES) return false;
    const armed = new ArmedWatch(paths.slice(0, missing.length), paths[missing.length], () => {
      this.#armed = undefined;
      this.#onChanged(watchId);
    });
    if (!armed.arm()) return false;
    this.#armed = armed;
    return true;
  }

  [Symbol.dispose](): void {
    this.#armed?.[Symbol.dispose]();
    this.#armed = undefined;
  }
}

class ArmedWatch implements Disposable {
  readonly #missing: readonly Buffer[];
  readonly #present: Buffer | undefined;
  readonly #presentAtFirst: string | undefined;
  readonly #onChanged: () => void;
  readonly #watchers = new Map<string, FSWatcher>();
  #over = false;

  constructor(missing: readonly Buffer[], present: Buffer | undefined, onChanged: () => void) {
    this.#missing = missing;
    this.#present = present;
    this.#presentAtFirst = present && fingerprint(present);
    this.#onChanged = onChanged;
  }

  /** Watches every directory where a change would show. False when something has changed already, or cannot be watched. */
  arm(): boolean {
    if (this.#present && this.#presentAtFirst === undefined) return false;
    if (!this.#missing.every(isAbsent)) return false;
    const watched = [...this.#missing.map(existingAncestor), ...(this.#present ? [this.#present] : [])];
    if (watched.some(leadsThroughLink)) return false;
    if (this.#watchAll() && !this.#changed()) return true;
    this[Symbol.dispose]();
    return false;
  }

  [Symbol.dispose](): void {
    this.#over = true;
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  /** Watches every path that is not watched yet; false where that is impossible. */
  #watchAll(): boolean {
    const paths = this.#missing.map(existingAncestor);
    if (this.#present) paths.push(this.#present, parentOf(this.#present));
    try {
      for (const path of paths) this.#watch(path);
      return true;
    } catch {
      return false; // out of inotify watches, or the path went away meanwhile
    }
  }

  #watch(path: Buffer): void {
    const key = path.toString('latin1');
    if (this.#watchers.has(key)) return;
    // A file rewritten within one tick of the clock has the fingerprint it had, so an event about it counts as a change.
    const isPresent = this.#present?.equals(path) ?? false;
    const watcher = watch(path, { persistent: false, encoding: 'buffer' }, () =>
      isPresent ? this.#fire() : this.#check(),
    );
    watcher.on('error', () => this.#fire()); // no longer watching: a false alarm is better than a missed change
    this.#watchers.set(key, watcher);
  }

  /** After an event in a directory: fires if a path has changed, otherwise watches directories that have appeared on the way. */
  #check(): void {
    if (this.#over) return;
    if (this.#changed() || !this.#watchAll() || this.#changed()) this.#fire();
  }

  #changed(): boolean {
    if (this.#present && fingerprint(this.#present) !== this.#presentAtFirst) return true;
    return this.#missing.some((path) => fingerprint(path) !== undefined);
  }

  #fire(): void {
    if (this.#over) return;
    this[Symbol.dispose]();
    this.#onChanged();
  }
}

/** Differs between two states of a file; undefined when there is no file. */
function fingerprint(path: Buffer): string | undefined {
  try {
    const { ino, size, mtimeNs, ctimeNs } = lstatSync(path, { bigint: true });
    return `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } catch {
    return undefined; // missing, or out of reach: a directory on the way is a file, a loop of links, or may not be searched
  }
}

/** The nearest directory above a path that exists. */
function existingAncestor(path: Buffer): Buffer {
  let ancestor = parentOf(path);
  while (ancestor.length > 1 && fingerprint(ancestor) === undefined) ancestor = parentOf(ancestor);
  return ancestor;
}

/** Whether an existing path leads through a link, which could be changed without an event here. */
function leadsThroughLink(path: Buffer): boolean {
  try {
    return !realpathSync(path, 'buffer').equals(path);
  } catch {
    return true; // a link to nothing
  }
}

/** Latin-1 keeps every byte as it is. */
const parentOf = (path: Buffer): Buffer => Buffer.from(dirname(path.toString('latin1')), 'latin1');

/** The directories above a path, missing ones included. */
function ancestorsOf(path: Buffer): string[] {
  const names = path.toString('latin1').split('/').slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
}

/** The path without redundant slashes: one after a link would mean its target. Undefined for a path of another host. */
function nativeBuffer(uri: PathUri): Buffer | undefined {
  try {
    const path: NativePath = uri.toNative();
    const bytes = typeof path === 'string' ? Buffer.from(path) : Buffer.from(path);
    return Buffer.from(
      bytes
        .toString('latin1')
        .replaceAll(/\/+/g, '/')
        .replace(/(?<=.)\/$/, ''),
      'latin1',
    );
  } catch {
    return undefined; // not a path of this host
  }
}

/** Whether a path is missing but could be created: below a file, or with a name that is too long, nothing can be. */
function isAbsent(path: Buffer): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false; // ENOTDIR, ENAMETOOLONG
  }
}

const MAX_PATHS = 64;
/** Directories above all paths together, each counted once. */
const MAX_DIRECTORIES = 64;
