import { UnenforceablePolicy } from '../unenforceable-policy.ts';

/** A pattern of denied paths. */
export interface Glob {
  /** The directory it starts in. */
  readonly root: string;
  /** The parts of the pattern below that. */
  readonly below: readonly string[];
  /** The pattern as an expression over whole paths. */
  readonly expression: RegExp;
}

/** Parses an absolute pattern; `resolve` may replace its directory by the real path. */
export function parseGlob(pattern: string, resolve = (root: string): string => root): Glob {
  const parts = plainParts(pattern);
  const firstWild = parts.findIndex(isWild);
  const literal = firstWild < 0 ? parts.slice(0, -1) : parts.slice(0, firstWild);
  if (literal.length === 0) {
    throw new UnenforceablePolicy(`the pattern ${pattern} would search the whole disk: begin it with a directory`);
  }
  const root = resolve(literal.map((part) => `/${part.replaceAll(ESCAPE, '$1')}`).join(''));
  const below = parts.slice(literal.length);
  const source = `^${root === '/' ? '' : escaped(root)}\\/${globSource(below.join('/'), pattern)}$`;
  try {
    return { root, below, expression: new RegExp(source, 'su') };
  } catch {
    throw new UnenforceablePolicy(`the pattern ${pattern} is not a valid glob`);
  }
}

/** A pattern that matches one path only. */
export const globOf = (path: string): string => path.replace(/[*?[\]{},\\]/g, '\\$&');

/** A backslash, and the character that it makes an ordinary one. */
const ESCAPE = /\\(.)/gsu;

const isWild = (part: string): boolean => /[*?[{]/.test(part.replaceAll(ESCAPE, ''));

/** The names in a pattern, without empty ones and dots. */
function plainParts(pattern: string): string[] {
  const parts: string[] = [];
  for (const part of pattern.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.some(isWild)) throw new UnenforceablePolicy(`the pattern ${pattern} has .. after a wildcard`);
    else parts.pop();
  }
  return parts;
}

/**
 * The directories that must not be renamed for a pattern to match a path again: if one could be, the next command would find
 * the match under a name that is not denied. Directories that `**` stands for may be renamed, as it matches any name.
 */
export function heldDirectories({ root, below }: Glob, path: string, depth?: number): readonly string[] {
  const parts = [...root.split('/'), ...below];
  const names = path.split('/');
  const above = names.map((_, end) => names.slice(0, end).join('/')).slice(2);
  const [any, another] = below.flatMap((part, at) => (part === '**' ? [at + parts.length - below.length] : []));
  const isPlain = any !== undefined && another === undefined && depth === undefined && !hasBracedSlash(below);
  if (!isPlain) return above;
  const after = Math.max(parts.length - any - 2, 0);
  return [...above.slice(0, any - 1), ...above.slice(Math.max(any - 1, above.length - after))];
}

const hasBracedSlash = (below: readonly string[]): boolean => /\{[^}]*\//.test(below.join('/'));

/**
 * `*` and `?` stay inside a name, `**` as a whole part is any number of parts, `[…]`, `{a,b}` and `\` as in shells.
 */
function globSource(text: string, pattern: string): string {
  let source = '';
  let braces = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    const isFirst = at === 0 || /[/{,]/.test(text[at - 1]!);
    if (text.startsWith('**/', at) && isFirst) {
      source += '(?:[^/]+/)*';
      at += 2;
    } else if (text.slice(at) === '**' && isFirst) {
      source += '.+';
      at += 1;
    } else if (character === '\\' && at + 1 < text.length) source += escaped(text[++at]!);
    else if (character === '*') source += '[^/]*';
    else if (character === '?') source += '[^/]';
    else if (character === '[' && classAt(text, at)) {
      const [all, negation, members] = classAt(text, at)!;
      source += `[${negation && '^'}${members!.replace(/[\\\][^]/g, '\\$&')}]`;
      at += all.length - 1;
    } else if (character === '{') {
      source += '(?:';
      braces++;
    } else if (character === '}' && braces > 0) {
      source += ')';
      braces--;
    } else if (character === ',' && braces > 0) source += '|';
    else source += escaped(character);
  }
  if (braces > 0) throw new UnenforceablePolicy(`the pattern ${pattern} has an unclosed {`);
  return source;
}

const escaped = (text: string): string => text.replace(/[.*?+^${}()|[\]\\/]/g, '\\$&');

/** A class of characters; a closing bracket directly after the opening one is a member. */
const classAt = (text: string, at: number): RegExpExecArray | null =>
  /^\[([!^]?)(\][^\]/]*|[^\]/]+)\]/.exec(text.slice(at));
