import { describe, expect, it } from 'vitest';
import { Login, unnamedGrant } from '../access/index.ts';
import { type MethodName, methods, scopes } from '../protocol/index.ts';
import { presentGrant, requireMethodScope } from './required-scope.ts';

const names = Object.keys(methods) as MethodName[];

describe('the scope of a method', () => {
  it.each(scopes)('%s allows the methods that name it, those for every token, and no other', (scope) => {
    const grant = { tokenName: 'ci', scopes: new Set([scope]), limits: {} };
    for (const name of names) {
      const needed = methods[name].scope;
      const call = () => requireMethodScope(grant, name);
      if (needed === 'any' || needed === scope) expect(call).not.toThrow();
      else expect(call).toThrow(`${name} needs scope ${needed}, which token ci does not have`);
    }
  });

  it('is refused with an error of its own kind, also without a name', () => {
    const call = () => requireMethodScope({ scopes: new Set(), limits: {} }, 'process/start');

    expect(call).toThrow('process/start needs scope run, which this connection does not have');
    expect(call).toThrow(expect.objectContaining({ kind: 'forbidden' }));
  });

  it('is granted to peers without a token for every method of the reference', () => {
    for (const name of names.filter((each) => !methods[each].capability)) requireMethodScope(unnamedGrant, name);
  });
});

describe('a login that has ended', () => {
  it('allows nothing', () => {
    expect(() => presentGrant(new Login(() => undefined))).toThrow('the token was revoked');
    const expired = new Login(() => ({ ...unnamedGrant, expiresAtMs: 0 }));
    expect(() => presentGrant(expired)).toThrow('the token has expired');
  });
});
