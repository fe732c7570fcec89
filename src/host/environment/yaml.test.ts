import { describe, expect, it } from 'vitest';
import { parseYaml } from './yaml.ts';

describe('YAML as people write it', () => {
  it.each([
    ['name: a', { name: 'a' }],
    ['name: "a: \\"b\\""', { name: 'a: "b"' }],
    ["name: 'it''s'", { name: "it's" }],
    ['a: use when: x happens', { a: 'use when: x happens' }],
    ['a: [x', { a: '[x' }],
    ['a: v # note', { a: 'v' }],
    ['a: "v # w" # note', { a: 'v # w' }],
    ['a:\nb: ~', { a: null, b: null }],
    ['a: one\n  two\nb: c', { a: 'one two', b: 'c' }],
    ['a: >\n  one\n  two\nb: c', { a: 'one two', b: 'c' }],
    ['a: |-\n  one\n  two\nb: c', { a: 'one\ntwo', b: 'c' }],
    ['a:\n  b:\n    c: d\n  e: f', { a: { b: { c: 'd' }, e: 'f' } }],
    ['a: [x, "y, z"]', { a: ['x', 'y, z'] }],
    ['a: {b: c, d: e}', { a: { b: 'c', d: 'e' } }],
    ['a:\n  - x\n  - y', { a: ['x', 'y'] }],
    ['a:\n- x\n- y\nb: c', { a: ['x', 'y'], b: 'c' }],
    ['a:\n  - b: 1\n    c: 2\n  - b: 3', { a: [{ b: '1', c: '2' }, { b: '3' }] }],
    ['# head\n\na: b\n\n# tail\n', { a: 'b' }],
    ['a: b\r\nc: d\r\n', { a: 'b', c: 'd' }],
    ['', null],
  ])('reads %j', (text, value) => {
    expect(parseYaml(text)).toEqual(value);
  });

  it('comes to an end whatever it is given', () => {
    for (const text of ['- - -', ':', '-\n-\n  -', 'a:\n b\n  c: d\n e', '\t- x\n: :\n', '? x\n: y', '---\n...']) {
      expect(() => parseYaml(text)).not.toThrow();
    }
  });
});
