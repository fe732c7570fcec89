import { describe, expect, it } from 'vitest';
import { choice, count, list, oneOf, onOff, text } from './setting-kinds.ts';

describe('a kind of setting', () => {
  it.each([
    ['a count', count(1), ['7', 7, '0', '-1', '1.5', '', 'x', '2147483648'], [7, 7]],
    ['a count that may be zero', count(0), ['0', 0], [0, 0]],
    ['a choice', choice, ['true', true, 'false', 'yes', ''], [true, true, false]],
    ['a switch', onOff, [true, 'true', 'false', 'on'], [true, true, false]],
    ['one of a few words', oneOf('stop', 'drop'), ['stop', 'drop', 'Stop', '', true], ['stop', 'drop']],
    ['a text', text('FILE', 'a file'), ['/a b', '', 7, true], ['/a b']],
    ['a text of a certain form', text('UID', 'a number', (value) => /^\d+$/.test(value)), ['12', 'x'], ['12']],
  ])('%s reads what it accepts, and nothing else', (_, kind, values, accepted) => {
    const read = values.map((value) => kind.read(value)).filter((value) => value !== undefined);

    expect(read).toEqual(accepted);
  });

  it('a list reads repeated flags, commas of a variable and a list of the file, and refuses it for one wrong entry', () => {
    const letters = list('LETTER', 'letters', (value) => /^[a-z]$/.test(value));

    expect([['a', 'b'], 'a, b', 'a', [], ['a', 'B'], 'a,,b', [1]].map((value) => letters.read(value))).toEqual([
      ['a', 'b'],
      ['a', 'b'],
      ['a'],
      [],
      undefined,
      undefined,
      undefined,
    ]);
  });
});
