import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Shown, shownLines, shownText, shownWord, shownWords } from './shown-words.ts';

/** The words that Bash makes of a line. */
function readBack(line: string): Buffer[] {
  const env = { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' };
  const printed = execFileSync('bash', ['--norc', '-c', `printf '%s\\0' ${line}`], { env });
  return printed
    .toString('latin1')
    .split('\0')
    .slice(0, -1)
    .map((word) => Buffer.from(word, 'latin1'));
}

const bytes = (word: Shown): Buffer => Buffer.from(word as string);

describe('a command as people are asked about it', () => {
  it.each([
    [['git', 'push', 'a b'], "git push 'a b'"],
    [['./sk-project-setup', '-token', '-delete', 'API_KEY=x'], "./sk-project-setup -token -delete 'API_KEY=x'"],
    [['echo', 'a\nb', '\\n', "it's\t"], `echo $'a\\nb' "\\\\n" $'it\\'s\\t'`],
    [
      ['\x1b[2K\x07', '\u202eb', '\u{e0041}', '\u0085', '\u00a0'],
      "$'\\e[2K\\x07' $'\\u202eb' $'\\U000e0041' $'\\u0085' $'\\u00a0'",
    ],
    [[Buffer.from([0x61, 0xff, 0x27]), Buffer.from('ü')], "$'a\\xff\\'' 'ü'"],
    [['\ud800', ''], "'\ufffd' ''"],
  ])('shows %j', (words, line) => {
    expect(shownWords(words)).toBe(line);
  });

  it('is read back by a shell as the same words, whatever they contain', () => {
    const word = fc.oneof(
      fc.string({ unit: 'binary', minLength: 0, maxLength: 20 }),
      fc.string({ unit: fc.constantFrom(...'\\\n\'"$`!^~*?[]{}()<>|&;# \t\r\x1bnexu0a\u200b\u2028é') }),
      fc.uint8Array({ maxLength: 20 }).map((array) => Buffer.from(array)),
    );
    const words = fc.array(
      word.filter((given) => !bytes(given).includes(0)),
      { minLength: 1, maxLength: 5 },
    );

    fc.assert(
      fc.property(words, (given) => {
        expect(readBack(shownWords(given))).toEqual(given.map(bytes));
        expect(readBack(shownLines(given))).toEqual(given.map(bytes));
      }),
      { numRuns: 150 },
    );
  });

  it('has nothing in it that a terminal obeys or that cannot be seen', () => {
    const unseen = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]|[^\S ]/u;
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        (text) => !unseen.test(shownWord(text)) && !unseen.test(shownText(text)),
      ),
    );
  });

  it('shows a script line by line where there is room, and no line that could be one of the question', () => {
    expect(shownLines(['bash', '-c', 'cd x\n\nIn /safe \\\n', 'y\n'])).toBe(
      "bash -c $'cd x\\n'\\\n$'\\n'\\\n$'In /safe \\\\\\n' $'y\\n'",
    );
  });
});

describe('prose in a question', () => {
  it.each([
    ['Push it?', 'Push it?'],
    ['C:\\new', 'C:\\new'],
    ['a\nb\\n', "$'a\\nb\\\\n'"],
    ["$'a\\nb'", "$'$\\'a\\\\nb\\''"],
  ])('%j is shown as it is unless something in it cannot be seen', (prose, shown) => {
    expect(shownText(prose)).toBe(shown);
  });
});
