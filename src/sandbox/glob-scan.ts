import { lstatSync, readdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { posix } from 'node:path';
import { pathBytes, pathText } from '../os/index.ts';
import { look, realPath } from './disk.ts';
import { Refusal } from './refusal.ts';

/** What is mounted on a path needs room for a prefix; the kernel takes 4096 bytes. */
const LONGEST_MASKED = 3072;

/** Matches beyond this many make a sandbox too large to build. */
const MOST_MATCHES = 8192;

/** What the patterns match at this moment; for a link, what it leads to. Searches while others wait. */
export function expandGlobs(patterns: readonly string[], depth?: number): readonly string[] {
  const search = searchAll(patterns, depth);
  let step = search.next([]);
  while (!step.done) step = search.next(orFailure(() => readdirSync(pathBytes(step.value as string), LISTING)));
  return step.value;
}

/** The same, letting others work meanwhile. */
export async function expandGlobsLater(patterns: readonly string[], depth?: number): Promise<readonly string[]> {
  const search = searchAll(patterns, depth);
  let step = search.next([]);
  while (!step.done) step = search.next(await readdir(pathBytes(step.value), LISTING).catch(failureOf));
  return step.value;
}

/** Names are bytes: one that is no UTF-8 is a name like any other. */
const LISTING = { withFileTypes: true, encoding: 'buffer' } as const;

/** An entry of a directory, as far as a search asks. */
interface Entry {
  readonly name: Uint8Array;
  isDirectory(): boolean;
}

/** The entries of a directory, or the code of the error that kept them from us. */
type Listing = readonly Entry[] | string;

const failureOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error);

function orFailure(list: () => Entry[]): Listing {
  try {
    return list();
  } catch (error) {
    return failureOf(error);
  }
}

/** Yields every directory it wants listed and is given the entries. */
type Search = Generator<string, readonly string[], Listing>;

function* searchAll(patterns: readonly string[], depth = Number.POSITIVE_INFINITY): Search {
  const matches = new Set<string>();
  for (const { root, expression } of patterns.map(splitGlob)) yield* search(root, expression, depth, matches);
  return [...matches];
}

function* search(
  root: string,
  expression: RegExp,
  depth: number,
  matches: Set<string>,
): Generator<string, void, Listing> {
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

/** Why a path cannot be looked at; that of a link, not followed: one that leads nowhere hides nothing. */
function failureAt(path: string): string {
  try {
    lstatSync(pathBytes(path));
    return 'ENOENT';
  } catch (error) {
    return failureOf(error);
  }
}

/**
 * A directory that cannot be searched is denied as a whole. Commands may have closed one of their own, or moved one to where
 * its path is too long, and would find in it later what was denied to them.
 */
function addUnsearched(matches: Set<string>, directory: string, code: string): void {
  if (code === 'ENOENT' || code === 'ENOTDIR') return; // it has gone since its name was read
  if (code !== 'EACCES' && code !== 'ENAMETOOLONG') throw new Refusal(`${directory} cannot be searched (${code})`);
  let at = directory;
  while (at !== '/' && (pathBytes(at).length > LONGEST_MASKED || look(at) === undefined)) at = posix.dirname(at);
  const owner = look(at)?.uid;
  if (code === 'EACCES' && owner !== process.geteuid?.()) return; // hidden from commands as well
  matches.add(at);
  checkCount(matches);
}

function checkCount(matches: ReadonlySet<string>): void {
  if (matches.size > MOST_MATCHES) throw new Refusal(`more than ${MOST_MATCHES} files match its patterns`);
}

/** The directory a pattern starts in, and the pattern as an expression over whole paths. */
export function splitGlob(pattern: string): { root: string; expression: RegExp } {
  const parts = pattern.split('/');
  const firstWild = parts.findIndex((part) => /[*?[{]/.test(part));
  const literal = firstWild < 0 ? parts.slice(0, -1) : parts.slice(0, firstWild);
  const root = literal.join('/') || '/';
  if (root === '/') throw new Refusal(`the pattern ${pattern} would search the whole disk: begin it with a directory`);
  return { root, expression: new RegExp(`^${globSource(pattern)}$`, 'su') };
}

/**
 * The directories that must stay where they are for a pattern to match a path again: if one could be renamed, the next
 * command would find the match under a name that is not denied. Those that `**` stands for may move among themselves.
 */
export function heldDirectories(pattern: string, path: string, depth?: number): readonly string[] {
  const parts = pattern.split('/');
  const names = path.split('/');
  const above = names.map((_, end) => names.slice(0, end).join('/')).slice(2);
  const [any, another] = parts.flatMap((part, at) => (part === '**' ? [at] : []));
  const isPlain = any !== undefined && another === undefined && depth === undefined && !/\{[^}]*\//.test(pattern);
  if (!isPlain) return above;
  const after = Math.max(parts.length - any - 2, 0);
  return [...above.slice(0, any - 1), ...above.slice(Math.max(any - 1, above.length - after))];
}

/** `*` and `?` stay inside a name, `**` as a whole part is any number of parts, `[…]` and `{a,b}` as in shells. */
function globSource(pattern: string): string {
  let source = '';
  let braces = 0;
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at]!;
    if (pattern.startsWith('**/', at) && (at === 0 || pattern[at - 1] === '/')) {
      source += '(?:[^/]+/)*';
      at += 2;
    } else if (pattern.slice(at) === '**' && pattern[at - 1] === '/') {
      source += '.+';
      at += 1;
    } else if (character === '*') source += '[^/]*';
    else if (character === '?') source += '[^/]';
    else if (character === '[' && classAt(pattern, at)) {
      const text = classAt(pattern, at)!;
      source += text.replace(/^\[!/, '[^').replaceAll('\\', '\\\\');
      at += text.length - 1;
    } else if (character === '{') {
      source += '(?:';
      braces++;
    } else if (character === '}' && braces > 0) {
      source += ')';
      braces--;
    } else if (character === ',' && braces > 0) source += '|';
    else source += character.replace(/[.+^${}()|[\]\\/]/, '\\$&');
  }
  if (braces > 0) throw new Refusal(`the pattern ${pattern} has a brace that is not closed`);
  return source;
}

const classAt = (pattern: string, at: number): string | undefined => /^\[!?\]?[^\]/]+\]/.exec(pattern.slice(at))?.[0];
