import { lstatSync, readlinkSync } from 'node:fs';
import { posix } from 'node:path';

/** The way the kernel takes through the disk to get to a file. */
export interface PathTrace {
  /** Without symbolic links. */
  readonly real: string;
  /** Everything on the way that decides where it leads: directories, links, and the file itself. */
  readonly places: readonly string[];
}

const MOST_LINKS = 40;

/** Undefined when it leads nowhere. */
export function tracePath(path: string): PathTrace | undefined {
  const places: string[] = [];
  const real = walk(path, places);
  return real === undefined ? undefined : { real, places };
}

/** What decides where a path leads, also when that is nowhere for now. */
export function placesOn(path: string): readonly string[] {
  const places: string[] = [];
  walk(path, places);
  return places;
}

function walk(path: string, places: string[]): string | undefined {
  let left = parts(path);
  let at = '/';
  let links = 0;
  while (left.length > 0) {
    const [name, ...rest] = left as [string, ...string[]];
    left = rest;
    if (name === '..') {
      at = posix.dirname(at);
      continue;
    }
    const next = posix.join(at, name);
    places.push(next);
    const target = linkTarget(next);
    if (target === undefined) return undefined;
    if (target === '') {
      at = next;
      continue;
    }
    if (++links > MOST_LINKS) return undefined;
    left = [...parts(target), ...left];
    if (target.startsWith('/')) at = '/';
  }
  return at;
}

const parts = (path: string): string[] => path.split('/').filter((name) => name !== '' && name !== '.');

/** Empty for what is no link, undefined for what is not there. */
function linkTarget(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : '';
  } catch {
    return undefined; // missing or out of our sight: it cannot be executed either
  }
}
