import { describe, expect, it } from 'vitest';
import { excessOfValues } from './value-limit.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('the limit of values', () => {
  it.each([
    ['[0,0,0]', 3, { line: 1, column: 5 }],
    ['[0,0,0]', 4, undefined],
    ['{"a":1,"b":[2,"c"]}', 4, { line: 1, column: 14 }],
    ['{"a":1,"b":[2,"c"]}', 5, undefined],
    ['[{},{},[]]', 3, { line: 1, column: 7 }],
    ['["a,b","\\"","\\\\",{"x\\"":"y"}]', 5, { line: 1, column: 24 }],
    ['[1,\n 2,\n 3]', 3, { line: 3, column: 1 }],
    ['[true,false,null,-1.5e3]', 4, { line: 1, column: 17 }],
    ['["a" , "b" : ,', 2, undefined],
    ['"unclosed \\', 3, undefined],
  ])('of %s, when %i are allowed, is exceeded at %j', (text, limit, expected) => {
    expect(excessOfValues(bytes(text), limit)).toEqual(expected);
  });
});
