import { type FSWatcher, lstatSync, realpathSync, watch } from 'node:fs';
import { dirname } from 'node:path';
import type { NativePath, PathUri } from '../../protocol/index.ts';

/**
 * Tells once when one of several missing paths appears, or when a present one changes or goes away. A client has one
 * watch at a time; a request with a greater number takes the place of the one before.
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
    if (!paths.every((path) => path !== undefined)) return false; // of another host
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

  /** Watches every place where the news would show. False when there is news already, or no way to see it. */
  arm(): boolean {
    if (this.#present && this.#presentAtFirst === undefined) return false;
    if (!this.#missing.every(isAbsent)) return false;
    const there = [...this.#missing.map(existingAncestor), ...(this.#present ? [this.#present] : [])];
    if (there.some(leadsElsewhere)) return false;
    if (this.#follow() && !this.#changed()) return true;
    this[Symbol.dispose]();
    return false;
  }

  [Symbol.dispose](): void {
    this.#over = true;
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  /** Watches what is not watched yet; false where that is impossible. */
  #follow(): boolean {
    const places = this.#missing.map(existingAncestor);
    if (this.#present) places.push(this.#present, parentOf(this.#present));
    try {
      for (const place of places) this.#watch(place);
      return true;
    } catch {
      return false; // out of watches, or the place went away meanwhile
    }
  }

  #watch(place: Buffer): void {
    const key = place.toString('latin1');
    if (this.#watchers.has(key)) return;
    // A file rewritten within one tick of the clock looks as before, so an event about it is news in any case.
    const isPresent = this.#present?.equals(place) ?? false;
    const watcher = watch(place, { persistent: false, encoding: 'buffer' }, () =>
      isPresent ? this.#fire() : this.#look(),
    );
    watcher.on('error', () => this.#fire()); // no longer watching: better one false alarm than none
    this.#watchers.set(key, watcher);
  }

  /** Something moved: fires if it matters, otherwise follows, for a directory on the way may be there now. */
  #look(): void {
    if (this.#over) return;
    if (this.#changed() || !this.#follow() || this.#changed()) this.#fire();
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

/** What tells one state of a file from another; undefined when there is none. */
function fingerprint(path: Buffer): string | undefined {
  try {
    const { ino, size, mtimeNs, ctimeNs } = lstatSync(path, { bigint: true });
    return `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } catch {
    return undefined; // nothing there, or nothing that could be seen: a directory on the way is a file, a loop or closed to us
  }
}

/** The nearest directory above a path that is there. */
function existingAncestor(path: Buffer): Buffer {
  let place = parentOf(path);
  while (place.length > 1 && fingerprint(place) === undefined) place = parentOf(place);
  return place;
}

/** Whether a path that is there is one through a link, which could lead to another place without a change in this one. */
function leadsElsewhere(path: Buffer): boolean {
  try {
    return !realpathSync(path, 'buffer').equals(path);
  } catch {
    return true; // a link to nothing
  }
}

/** Latin-1 keeps every byte what it is. */
const parentOf = (path: Buffer): Buffer => Buffer.from(dirname(path.toString('latin1')), 'latin1');

/** The directories above a path, those that are not there included. */
function ancestorsOf(path: Buffer): string[] {
  const names = path.toString('latin1').split('/').slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
}

/** The path without needless slashes: one at its end would ask what a link leads to. Undefined for a path of another host. */
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
    return undefined; // no path: it cannot be watched
  }
}

/** Whether nothing is there but something could be: below a file, or with a name that is too long, nothing ever can. */
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
