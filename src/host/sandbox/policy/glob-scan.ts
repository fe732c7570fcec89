import { lstatSync, readdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { posix } from 'node:path';
import { pathBytes, pathText } from '../../os/index.ts';
import { UnenforceablePolicy } from '../unenforceable-policy.ts';
import { entryAt, realPath } from '../view/disk.ts';
import { parseGlob } from './glob.ts';

/** A path to mount on needs room for a prefix; the kernel takes 4096 bytes. */
const LONGEST_MASKED = 3072;

/** Matches beyond this many make a sandbox too large to build. */
const MOST_MATCHES = 8192;

/** The paths that the patterns match at this moment; for a link, its target. Blocks the event loop. */
export function expandGlobs(patterns: readonly string[], depth?: number): readonly string[] {
  const search = searchAll(patterns, depth);
  let step = search.next([]);
  while (!step.done) step = search.next(orFailure(() => readdirSync(pathBytes(step.value as string), LISTING)));
  return step.value;
}

/** `expandGlobs` without blocking the event loop. */
export async function expandGlobsLater(patterns: readonly string[], depth?: number): Promise<readonly string[]> {
  const search = searchAll(patterns, depth);
  let step = search.next([]);
  while (!step.done) step = search.next(await readdir(pathBytes(step.value), LISTING).catch(failureOf));
  return step.value;
}

/** Names are bytes, because a file name need not be UTF-8. */
const LISTING = { withFileTypes: true, encoding: 'buffer' } as const;

/** The parts of `Dirent` that a search uses. */
interface GlobEntry {
  readonly name: Uint8Array;
  isDirectory(): boolean;
}

/** The entries of a directory, or the code of the error of reading it. */
type DirectoryListing = readonly GlobEntry[] | string;

const failureOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error);

function orFailure(list: () => GlobEntry[]): DirectoryListing {
  try {
    return list();
  } catch (error) {
    return failureOf(error);
  }
}

/** Yields every directory to be listed and is given the entries. */
type GlobSearch = Generator<string, readonly string[], DirectoryListing>;

function* searchAll(patterns: readonly string[], depth = Number.POSITIVE_INFINITY): GlobSearch {
  const matches = new Set<string>();
  for (const pattern of patterns) {
    const { root, expression } = parseGlob(pattern, (path) => realPath(path) ?? path);
    yield* search(root, expression, depth, matches);
  }
  return [...matches];
}

function* search(
  root: string,
  expression: RegExp,
  depth: number,
  matches: Set<string>,
): Generator<string, void, DirectoryListing> {
  const waiting = [{ directory: root, depth }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { directory } = next;
    const listing = yield directory;
    if (typeof listing === 'string') {
      addUnsearched(matches, directory, listing);
      continue;
    }
    for (const entry of listing) {
      const path = posix.join(directory, pathText(entry.name));
      if (expression.test(path)) add(matches, path);
      else if (entry.isDirectory() && next.depth > 1) waiting.push({ directory: path, depth: next.depth - 1 });
    }
  }
}

function add(matches: Set<string>, path: string): void {
  const real = realPath(path);
  if (real !== undefined) matches.add(real);
  else addUnsearched(matches, posix.dirname(path), failureAt(path));
  checkCount(matches);
}

/** The code of the error of `lstat`; `ENOENT` for a link that leads nowhere, which hides nothing. */
function failureAt(path: string): string {
  try {
    lstatSync(pathBytes(path));
    return 'ENOENT';
  } catch (error) {
    return failureOf(error);
  }
}

/**
 * A directory that cannot be searched is denied as a whole. Commands may have taken the permission from one of their own, or
 * moved one to where its path is too long, and would find in it later what was denied to them.
 */
function addUnsearched(matches: Set<string>, directory: string, code: string): void {
  if (code === 'ENOENT' || code === 'ENOTDIR') return; // it has gone since its name was read
  if (code !== 'EACCES' && code !== 'ENAMETOOLONG')
    throw new UnenforceablePolicy(`${directory} cannot be searched (${code})`);
  let at = directory;
  while (at !== '/' && (pathBytes(at).length > LONGEST_MASKED || entryAt(at) === undefined)) at = posix.dirname(at);
  const owner = entryAt(at)?.uid;
  if (code === 'EACCES' && owner !== process.geteuid?.()) return; // hidden from commands as well
  matches.add(at);
  checkCount(matches);
}

function checkCount(matches: ReadonlySet<string>): void {
  if (matches.size > MOST_MATCHES) throw new UnenforceablePolicy(`more than ${MOST_MATCHES} files match its patterns`);
}
