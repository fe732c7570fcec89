import { joinWords } from './words.ts';

/** Text, or bytes that need not be UTF-8. */
export type Shown = string | Uint8Array;

/** Characters that control a terminal, are invisible, or look like a blank. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]|[^\S ]/u;
const ESCAPED = /[\\']|[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]|[^\S ]/gu;
const NAMED: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  "'": "\\'",
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\x1b': '\\e',
};

/**
 * A command as users are asked about it: complete, in words that Bash reads back unchanged. Words with invisible characters are
 * escaped in `$'…'`.
 */
export function shownWords(words: readonly Shown[]): string {
  return words.map(shownWord).join(' ');
}

/** `shownWords` in several lines, for scripts: every further line begins with `$'`, so it cannot be taken for a line of the question. */
export function shownLines(words: readonly Shown[]): string {
  return words.map((word) => shown(word, /(?<=\n)(?=[\s\S])/)).join(' ');
}

export function shownWord(word: Shown): string {
  return shown(word);
}

function shown(word: Shown, lineEnd?: RegExp): string {
  if (typeof word !== 'string') return isText(word) ? shown(text(word), lineEnd) : `$'${escapedBytes(word)}'`;
  const whole = text(Buffer.from(word)); // lone surrogates become U+FFFD, as in the argv of the program
  if (!UNSEEN.test(whole)) return joinWords([whole]);
  const lines = lineEnd === undefined ? [whole] : whole.split(lineEnd);
  return lines.map((line) => `$'${escaped(line)}'`).join('\\\n');
}

/** Prose as it is, or escaped where it has invisible characters. */
export function shownText(prose: string): string {
  return UNSEEN.test(prose) || prose.startsWith("$'") ? `$'${escaped(prose)}'` : prose;
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
const isText = (bytes: Uint8Array): boolean => Buffer.from(text(bytes)).equals(bytes);

function escaped(word: string): string {
  return word.replace(ESCAPED, (character) => {
    const code = character.codePointAt(0)!;
    return (
      NAMED[character] ?? (code < 0x80 ? hex('x', code, 2) : code > 0xffff ? hex('U', code, 8) : hex('u', code, 4))
    );
  });
}

const hex = (kind: string, code: number, digits: number): string =>
  `\\${kind}${code.toString(16).padStart(digits, '0')}`;

function escapedBytes(bytes: Uint8Array): string {
  return [...bytes].map((byte) => (byte < 0x80 ? escaped(String.fromCharCode(byte)) : hex('x', byte, 2))).join('');
}
