import { describe, expect, it } from 'vitest';
import { parseSecrets, SigningKeys } from './signing-keys.ts';

const secret = (letter: string): string => letter.repeat(32);

describe('signing keys', () => {
  it('verify their own signatures and no others', () => {
    const keys = new SigningKeys([secret('a')]);
    const { kid } = keys;
    const signature = keys.sign(['purpose', 'one', 'two']);

    expect(keys.verify(['purpose', 'one', 'two'], kid, signature)).toBe(true);
    expect(keys.verify(['purpose', 'one,two'], kid, signature)).toBe(false);
    expect(keys.verify(['other', 'one', 'two'], kid, signature)).toBe(false);
    expect(keys.verify(['purpose', 'one', 'two'], kid, signature.slice(1))).toBe(false);
    expect(keys.verify(['purpose', 'one', 'two'], 'unknown', signature)).toBe(false);
    expect(SigningKeys.random().verify(['purpose', 'one', 'two'], kid, signature)).toBe(false);
  });

  it('sign with the newest secret and verify signatures of the one before it', () => {
    const keys = new SigningKeys([secret('a')]);
    const [kid, signature] = [keys.kid, keys.sign(['x'])];

    keys.replace([secret('a'), secret('b')]);
    expect([keys.kid === kid, keys.verify(['x'], kid, signature)]).toEqual([false, true]);

    keys.replace([secret('a'), secret('b'), secret('c')]);
    expect(keys.verify(['x'], kid, signature)).toBe(false);
  });

  it('are read from lines, of which some are comments', () => {
    expect(parseSecrets(`# old\n${secret('a')}\n\n  ${secret('b')}\r\n`)).toEqual([secret('a'), secret('b')]);
    expect(() => parseSecrets('# none\n')).toThrow('it holds no secret');
    expect(() => parseSecrets(`${secret('a')}\nshort\n`)).toThrow('a secret has less than 32 characters');
  });
});
