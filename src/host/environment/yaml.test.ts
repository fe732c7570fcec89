import { describe, expect, it } from 'vitest';
import { parseYaml } from './yaml.ts';

describe('a YAML document', () => {
  it.each([
    ['a: 1.50\nb: 0x10\nc: 2024-01-01\nd: yes', { a: '1.50', b: '0x10', c: '2024-01-01', d: 'yes' }],
    ['a: 8080\nb: "8080"', { a: 8080, b: '8080' }],
    ['a: True\nb: "true"\nc: ~\nd:', { a: true, b: 'true', c: null, d: null }],
    ['a: !unknown text', { a: 'text' }],
    ['a: &name x\nb: *name', { a: 'x', b: 'x' }],
    ['- x\n- {y: z}', ['x', { y: 'z' }]],
    ['', null],
  ])('of %j is read with its scalars as they were written', (text, value) => {
    expect(parseYaml(text)).toEqual(value);
  });

  it.each(['a: b: c', 'a: [', 'a: 1\na: 2', 'a: 1\n---\nb: 2', 'a: "'])('of %j is refused', (text) => {
    expect(() => parseYaml(text)).toThrow();
  });
});
