import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeTables, parseToml, selectPaths, writeToml } from './toml.ts';

const selected = (text: string, ...paths: string[][]) => {
  const part = selectPaths(parseToml(text), paths);
  return part && writeToml(part);
};

describe('a selection of settings', () => {
  it('holds the named keys and nothing else', () => {
    const text = 'model = "m"\nother = 1\n[servers.x]\nurl = "u"\nsecret = "s"\n';
    expect(selected(text, ['model'], ['servers', 'x', 'url'])).toBe('model = "m"\n\n[servers.x]\nurl = "u"\n');
  });

  it('is undefined if none of the keys exists', () => {
    expect(selected('model = "m"', ['absent'], ['absent', 'too'])).toBeUndefined();
  });

  it('keeps a value where a path expects a table, because it hides lower layers', () => {
    expect(selected('a = 2\nlist = [1]', ['a', 'b'], ['list', 'x'])).toBe('a = 2\nlist = [ 1 ]\n');
  });

  it('keeps a table that has none of the keys below it, because it hides lower values', () => {
    expect(selected('[a]\nother = 1', ['a', 'b'])).toBe('[a]\n');
  });

  it('takes a key literally, with its dots', () => {
    expect(selected('"a.b" = 1\n[a]\nb = 2', ['a.b'])).toBe('"a.b" = 1\n');
    expect(selected('"__proto__" = 1', ['__proto__'])).toBe('__proto__ = 1\n');
  });

  it.each([
    'f = 1.0\n',
    'i = 9007199254740993\n',
    'd = 1979-05-27T07:32:00.000Z\n',
    'l = 1979-05-27\n',
    's = "two\\nlines \\"quoted\\""\n',
    'inf = inf\n',
  ])('is written as it was read: %s', (text) => {
    expect(selected(text, [text.split(' ')[0]!])).toBe(text);
  });

  it('is read back unchanged for any table', () => {
    const scalar = fc.oneof(fc.string(), fc.boolean(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }));
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.oneof(scalar, fc.dictionary(fc.string(), scalar))), (table) => {
        expect(parseToml(writeToml(table))).toEqual(table);
      }),
    );
  });
});

describe('one layer over another', () => {
  it('merges tables and replaces everything else', () => {
    const lower = parseToml('a = 1\nlist = [1, 2]\n[t]\nx = 1\ny = 1');
    const upper = parseToml('list = [3]\nb = 2\n[t]\ny = 2');
    expect(mergeTables(lower, upper)).toEqual({ a: 1n, list: [3n], t: { x: 1n, y: 2n }, b: 2n });
  });
});
