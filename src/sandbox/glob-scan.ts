import { type Dirent, readdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { posix } from 'node:path';
import { realPath } from './disk.ts';
import { Refusal } from './refusal.ts';

/** Matches beyond this many make a sandbox too large to build. */
const MOST_MATCHES = 8192;

/** What the patterns match at this moment; for a link, what it leads to. Searches while others wait. */
export function expandGlobs(patterns: readonly string[], depth?: number): readonly string[] {
  const search = searchAll(patterns, depth);
  let step = search.next([]);
  while (!step.done) step = search.next(orNothing(() => readdirSync(step.value as string, { withFileTypes: true })));
  return step.value;
}

/** The same, letting others work meanwhile. */
export async function expandGlobsLater(patterns: readonly string[], depth?: number): Promise<readonly string[]> {
  const search = searchAll(patterns, depth);
  let step = search.next([]);
  while (!step.done) step = search.next(await readdir(step.value, { withFileTypes: true }).catch(() => []));
  return step.value;
}

/** Missing or not readable: nothing the command could read either. */
function orNothing(list: () => Dirent[]): Dirent[] {
  try {
    return list();
  } catch {
    return [];
  }
}

/** Yields every directory it wants listed and is given the entries. */
type Search = Generator<string, readonly string[], readonly Dirent[]>;

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
): Generator<string, void, readonly Dirent[]> {
  const waiting = [{ directory: root, depth }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { directory } = next;
    for (const entry of yield directory) {
      const path = posix.join(directory, entry.name);
      if (expression.test(path)) add(matches, path);
      else if (entry.isDirectory() && next.depth > 1) waiting.push({ directory: path, depth: next.depth - 1 });
    }
  }
}

function add(matches: Set<string>, path: string): void {
  const real = realPath(path);
  if (real !== undefined) matches.add(real);
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
