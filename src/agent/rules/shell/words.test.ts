import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { joinWords, splitWords } from './words.ts';

describe('shell words', () => {
  it.each([
    [`a 'b c' "d\\"e\\n" f\\ g`, ['a', 'b c', 'd"e\\n', 'f g']],
    ['a#b #c d', ['a#b']],
    [`''""`, ['']],
    [`a 'b`, undefined],
    [`a "b`, undefined],
    ['a \\', undefined],
    ['  ', []],
  ])('split %j', (line, words) => {
    expect(splitWords(line)).toEqual(words);
  });

  it('come back from the line they are joined into', () => {
    const words = fc.array(fc.string({ unit: fc.constantFrom(...'ab \'"\\$`!^#~\n\té'), maxLength: 6 }), {
      maxLength: 4,
    });

    fc.assert(
      fc.property(words, (given) => {
        expect(splitWords(joinWords(given))).toEqual(given);
      }),
    );
  });

  it('are quoted as little as needed', () => {
    expect(joinWords(['git', '-C', '/a b', "it's", 'a^b', "$'"])).toBe(`git -C '/a b' "it's" a'^b' '$'"'"`);
  });
});
