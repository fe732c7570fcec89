import type { UnboundMethod } from './methods.ts';
import { type BoundArguments, checkType } from './native-function.ts';
import { formatBraces } from './text-format.ts';
import { Failure, iterate, List, Tuple, type Value } from './value.ts';

const text = (value: Value | undefined): string => value as string;
const simple = (run: (self: string) => Value): UnboundMethod<string> => ({ parameters: [], run });
const list = (items: Iterable<string>): List => new List([...items]);

/** A test of the whole string by a pattern. */
const consistsOf = (pattern: RegExp): UnboundMethod<string> => simple((self) => pattern.test(self));

const affix = (name: string, test: (self: string, part: string) => boolean): UnboundMethod<string> => ({
  parameters: [`/${name}: str | tuple[str, ...]`],
  run: (self, given) => {
    const value = given[name];
    return (value instanceof Tuple ? value.items : [value]).some((part) => test(self, text(part)));
  },
});

const search = (find: (self: string, part: string) => number, isRequired: boolean): UnboundMethod<string> => ({
  parameters: ['/needle: str', '/start?: int', '/end?: int'],
  run: (self, { needle, start, end }) => {
    const characters = [...self];
    const from = Number((start as bigint | undefined) ?? 0n);
    const part = characters.slice(from, end === undefined ? undefined : Number(end as bigint)).join('');
    const at = find(part, text(needle));
    if (at < 0 && isRequired) throw new Failure(`Substring '${text(needle)}' not found in '${self}'`);
    return at < 0 ? -1n : BigInt([...part.slice(0, at)].length + from);
  },
});

const trim = (start: boolean, end: boolean): UnboundMethod<string> => ({
  parameters: ['/chars?: str'],
  run: (self, { chars }) => {
    const isCut = (character: string): boolean =>
      chars === undefined ? /\s/.test(character) : text(chars).includes(character);
    const characters = [...self];
    let from = 0;
    let to = characters.length;
    while (start && from < to && isCut(characters[from]!)) from += 1;
    while (end && to > from && isCut(characters[to - 1]!)) to -= 1;
    return characters.slice(from, to).join('');
  },
});

const partition = (find: (self: string, part: string) => number, whole: 0 | 2): UnboundMethod<string> => ({
  parameters: ['/needle: str'],
  run: (self, { needle }) => {
    const separator = text(needle);
    if (separator === '') throw new Failure('Empty separator cannot be used for partitioning');
    const at = find(self, separator);
    if (at < 0) return new Tuple(whole === 0 ? [self, '', ''] : ['', '', self]);
    return new Tuple([self.slice(0, at), separator, self.slice(at + separator.length)]);
  },
});

function limitOf({ maxsplit }: BoundArguments): number {
  return maxsplit === undefined || maxsplit === null || (maxsplit as bigint) < 0n
    ? Number.POSITIVE_INFINITY
    : Number(maxsplit as bigint);
}

/** Splits at most `limit` times from the start; without a separator at runs of blanks, ignoring those at both ends. */
function split(self: string, separator: string | null, limit: number): string[] {
  if (separator === '') throw new Failure('Empty separator cannot be used for splitting');
  const parts: string[] = [];
  let rest = separator === null ? self.trimStart() : self;
  while (parts.length < limit) {
    const found = separator === null ? /\s+/.exec(rest) : { index: rest.indexOf(separator), 0: separator };
    if (found === null || found.index < 0) break;
    parts.push(rest.slice(0, found.index));
    rest = rest.slice(found.index + found[0].length);
  }
  return separator === null && rest === '' ? parts : [...parts, rest];
}

const reverse = (self: string): string => [...self].reverse().join('');

export const stringMethods: Readonly<Record<string, UnboundMethod<string>>> = {
  capitalize: simple((self) => self.slice(0, 1).toUpperCase() + self.slice(1).toLowerCase()),
  codepoints: simple((self) => new List([...self].map((character) => BigInt(character.codePointAt(0)!)))),
  count: {
    parameters: ['/needle: str', '/start?: int', '/end?: int'],
    run: (self, { needle, start = 0n, end }) => {
      const part = [...self]
        .slice(Number(start as bigint), end === undefined ? undefined : Number(end as bigint))
        .join('');
      return BigInt(part.split(text(needle)).length - 1);
    },
  },
  elems: simple((self) => list(self)),
  endswith: affix('suffix', (self, part) => self.endsWith(part)),
  find: search((self, part) => self.indexOf(part), false),
  format: {
    parameters: ['*args', '**kwargs'],
    run: (self, _, { positional, named }) => formatBraces(self, positional, named),
  },
  index: search((self, part) => self.indexOf(part), true),
  isalnum: consistsOf(/^[\p{L}\p{N}]+$/su),
  isalpha: consistsOf(/^\p{L}+$/su),
  isdigit: consistsOf(/^\p{N}+$/su),
  islower: consistsOf(/^(?=.*\p{Ll})[^\p{Lu}]*$/su),
  isspace: consistsOf(/^\s+$/),
  istitle: consistsOf(/^(?=.*\p{Lu})(?:\P{L}|\p{Lu}\p{Ll}*(?=\P{L}|$))*$/su),
  isupper: consistsOf(/^(?=.*\p{Lu})[^\p{Ll}]*$/su),
  join: {
    parameters: ['/to_join'],
    run: (self, given) => {
      const parts = [...iterate(given.to_join!)];
      for (const part of parts) checkType('to_join', 'str', part);
      return parts.join(self);
    },
  },
  lower: simple((self) => self.toLowerCase()),
  lstrip: trim(true, false),
  partition: partition((self, part) => self.indexOf(part), 0),
  removeprefix: {
    parameters: ['/prefix: str'],
    run: (self, { prefix }) => (self.startsWith(text(prefix)) ? self.slice(text(prefix).length) : self),
  },
  removesuffix: {
    parameters: ['/suffix: str'],
    run: (self, { suffix }) => (self.endsWith(text(suffix)) ? self.slice(0, self.length - text(suffix).length) : self),
  },
  replace: {
    parameters: ['/old: str', '/new: str', '/count?: int'],
    run: (self, { old, new: by, count = -1n }) => {
      const pieces = self.split(text(old));
      const kept = (count as bigint) < 0n ? pieces.length : Math.min(Number(count as bigint) + 1, pieces.length);
      return [...pieces.slice(0, kept - 1), pieces.slice(kept - 1).join(text(old))].join(text(by));
    },
  },
  rfind: search((self, part) => self.lastIndexOf(part), false),
  rindex: search((self, part) => self.lastIndexOf(part), true),
  rpartition: partition((self, part) => self.lastIndexOf(part), 2),
  rsplit: {
    parameters: ['/sep?: None | str', '/maxsplit?: None | int'],
    run: (self, given) => {
      const separator = (given.sep ?? null) as string | null;
      const parts = split(reverse(self), separator === null ? null : reverse(separator), limitOf(given));
      return list(parts.map(reverse).reverse());
    },
  },
  rstrip: trim(false, true),
  split: {
    parameters: ['/sep?: None | str', '/maxsplit?: None | int'],
    run: (self, given) => list(split(self, (given.sep ?? null) as string | null, limitOf(given))),
  },
  splitlines: {
    parameters: ['/keepends?: bool'],
    run: (self, { keepends }) => {
      const lines = self.match(/[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+$/g) ?? [];
      return list(keepends === true ? lines : lines.map((line) => line.replace(/[\r\n]+$/, '')));
    },
  },
  startswith: affix('prefix', (self, part) => self.startsWith(part)),
  strip: trim(true, true),
  title: simple((self) =>
    self.replace(/\p{L}+/gu, (word) => word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase()),
  ),
  upper: simple((self) => self.toUpperCase()),
};
