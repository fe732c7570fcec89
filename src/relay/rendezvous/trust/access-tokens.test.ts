import { describe, expect, it } from 'vitest';
import { sha256 } from '../api/identifiers.ts';
import { AccessTokens, freshTokens, parseTokens, scopes } from './access-tokens.ts';

const digest = (token: string): string => sha256(token).toString('hex');

describe('access tokens', () => {
  it('are good for their scope and their environments', async () => {
    const tokens = new AccessTokens([
      { sha256: digest('one'), scope: 'executor', environments: ['ci-*', 'build.1'] },
      { sha256: digest('two'), scope: 'harness', environments: [] },
    ]);
    const one = await tokens.identify('one');

    expect(one?.name).toBe(digest('one').slice(0, 8));
    expect(['ci-7', 'ci-', 'build.1', 'buildx1', 'other', 'xci-7'].map((id) => one?.mayAct('executor', id))).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
    expect(scopes.map((scope) => one?.mayAct(scope, 'ci-7'))).toEqual([true, false, false]);
    expect((await tokens.identify('two'))?.mayAct('harness', 'any')).toBe(false);
    expect(await tokens.identify('three')).toBeUndefined();
  });

  it('are made fresh, one for each scope', async () => {
    const { shown, tokens } = freshTokens();
    const known = new AccessTokens(tokens);
    for (const scope of scopes) {
      const identity = await known.identify(shown[scope]);
      expect(scopes.filter((other) => identity?.mayAct(other, 'anything'))).toEqual([scope]);
    }
  });

  it('are read from a file', () => {
    const entry = { sha256: 'AB'.repeat(32), scope: 'admin', environments: ['*'] };

    expect(parseTokens(JSON.stringify({ tokens: [entry] }))).toEqual([{ ...entry, sha256: 'ab'.repeat(32) }]);
  });

  it.each([
    ['[]', '"tokens" is not a list'],
    ['{"tokens":[null]}', 'tokens[0]: "sha256" is not 64 hex digits'],
    ['{"tokens":[{"sha256":"abc"}]}', 'tokens[0]: "sha256" is not 64 hex digits'],
    [JSON.stringify({ tokens: [{ sha256: '0'.repeat(64), scope: 'root' }] }), 'tokens[0]: "scope" is none of'],
    [JSON.stringify({ tokens: [{ sha256: '0'.repeat(64), scope: 'admin' }] }), 'tokens[0]: "environments" is not'],
    [
      JSON.stringify({ tokens: [{ sha256: '0'.repeat(64), scope: 'admin', environments: ['a/b'] }] }),
      'tokens[0]: "environments" is not',
    ],
    [
      JSON.stringify({ tokens: [{ sha256: '0'.repeat(64), scope: 'admin', environments: [7] }] }),
      'tokens[0]: "environments" is not',
    ],
    [
      JSON.stringify({
        tokens: ['executor', 'harness'].map((scope) => ({ sha256: '0'.repeat(64), scope, environments: ['*'] })),
      }),
      'tokens[1]: is the token of tokens[0]',
    ],
  ])('are not read from %s', (text, reason) => {
    expect(() => parseTokens(text)).toThrow(reason);
  });
});
