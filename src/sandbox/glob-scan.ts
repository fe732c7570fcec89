import { readdirSync } from 'node:fs';
import { posix } from 'node:path';
import { look, realPath } from './disk.ts';
import { Refusal } from './refusal.ts';

/** Matches beyond this many make a sandbox too large to build. */
const MOST_MATCHES = 8192;

/** What the patterns match at this moment; for a link, what it leads to. */
export function expandGlobs(patterns: readonly string[], depth = Number.POSITIVE_INFINITY): readonly string[] {
  const matches = new Set<string>();
  for (const pattern of patterns) {
    const { root, expression } = splitGlob(pattern);
    scan(root, depth, (path) => {
      if (!expression.test(path)) return false;
      const real = realPath(path);
      if (real !== undefined) matches.add(real);
      if (matches.size > MOST_MATCHES) throw new Refusal(`more than ${MOST_MATCHES} files match ${pattern}`);
      return true;
    });
  }
  return [...matches];
}

/** Visits everything below a directory; what `take` accepts is not entered. */
function scan(directory: string, depth: number, take: (path: string) => boolean): void {
  if (depth < 1) return;
  for (const name of namesIn(directory)) {
    const path = posix.join(directory, name);
    if (!take(path) && look(path)?.isDirectory()) scan(path, depth - 1, take);
  }
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // missing or not readable: nothing the command could read either
  }
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
