import { describe, expect, it } from 'vitest';
import { bearerToken } from './bearer-token.ts';

describe('the token of an authorization header', () => {
  it.each([
    ['Bearer abc', 'abc'],
    ['bearer \t abc ', 'abc'],
    [' BEARER abc def', 'abc def'],
    ['Bearer', undefined],
    ['Bearer  ', undefined],
    ['Bearerabc', undefined],
    ['Basic abc', undefined],
    ['', undefined],
  ])('%j: %j', (header, token) => {
    expect(bearerToken(header)).toBe(token);
  });
});
