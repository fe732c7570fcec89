import { lstatSync, readlinkSync } from 'node:fs';
import { posix } from 'node:path';

/** How the kernel resolves a path. */
export interface PathTrace {
  /** The path without symbolic links. */
  readonly real: string;
  /** Everything that decides where the path leads: directories, links, and the file itself. */
  readonly visited: readonly string[];
}

const MOST_LINKS = 40;

/** Resolves a path; undefined when it leads nowhere. */
export function tracePath(path: string): PathTrace | undefined {
  const visited: string[] = [];
  const real = walk(path, visited);
  return real === undefined ? undefined : { real, visited };
}

/** The paths that decide where a path leads, also when it leads nowhere at the moment. */
export function visitedPaths(path: string): readonly string[] {
  const visited: string[] = [];
  walk(path, visited);
  return visited;
}

function walk(path: string, visited: string[]): string | undefined {
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
    visited.push(next);
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

/** The target of a link; empty for other files, undefined for a missing one. */
function linkTarget(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : '';
  } catch {
    return undefined; // missing or not accessible, so it cannot be executed either
  }
}
