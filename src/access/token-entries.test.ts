import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { grantOf, harnessGrant, tokenRights } from './access-token.ts';
import { parseTokens } from './token-entries.ts';

const digest = (digit: string): string => digit.repeat(64);
const file = (...entries: unknown[]): string => JSON.stringify({ tokens: entries });
const older = (entry: object) => file({ sha256: digest('0'), ...entry });
const present = (entry: object) => file({ name: 'ci', sha256: digest('0'), scopes: ['run'], ...entry });

describe('tokens', () => {
  it('are read with all they may have', () => {
    const entry = {
      name: 'ci',
      sha256: 'AB'.repeat(32),
      scopes: ['run', 'harness', 'run'],
      environments: ['ci-*'],
      limits: { sessions: 2, processes: 0, durableBytes: 1e9 },
      expires: '2027-01-31T12:00:00+01:00',
    };

    expect(parseTokens(file(entry))).toEqual([
      {
        name: 'ci',
        sha256: 'ab'.repeat(32),
        rights: ['run', 'harness'],
        environments: ['ci-*'],
        limits: { sessions: 2, processes: 0, durableBytes: 1e9 },
        expiresAtMs: Date.UTC(2027, 0, 31, 11),
      },
    ]);
  });

  it('may have nothing but a name and scopes, and these may be none', () => {
    expect(parseTokens(present({ scopes: [] }))).toEqual([
      { name: 'ci', sha256: digest('0'), rights: [], environments: [], limits: {} },
    ]);
    expect(parseTokens('{"tokens":[]}')).toEqual([]);
  });

  it('are read in the form that the rendezvous had first, where the digest gives the name', () => {
    const entry = { sha256: 'AB'.repeat(32), scope: 'admin', environments: ['*'], comment: 'ours' };

    expect(parseTokens(file(entry, { ...entry, sha256: digest('1'), name: 'named' }))).toEqual([
      { name: 'abababab', sha256: 'ab'.repeat(32), rights: ['admin'], environments: ['*'], limits: {}, isOlder: true },
      { name: 'named', sha256: digest('1'), rights: ['admin'], environments: ['*'], limits: {}, isOlder: true },
    ]);
  });

  it('are not quoted where a file is no JSON: it may be a token itself', () => {
    expect(() => parseTokens('a-token-in-the-wrong-place')).toThrow(
      'it is not JSON; a file of tokens is made by `exec-server token add`',
    );
  });

  it.each([
    ['[]', '"tokens" is not a list'],
    ['null', '"tokens" is not a list'],
    [file(null), 'tokens[0]: "sha256" is not 64 hex digits'],
    [file({ sha256: 'abc' }), 'tokens[0]: "sha256" is not 64 hex digits'],
    [older({ scope: 'root' }), 'tokens[0]: "scope" is none of executor, harness, admin'],
    [older({ scope: 'admin' }), 'tokens[0]: "environments" is not'],
    [older({ scope: 'admin', environments: ['a/b'] }), 'tokens[0]: "environments" is not'],
    [older({ scope: 'admin', environments: [7] }), 'tokens[0]: "environments" is not'],
    [
      older({ scope: 'admin', environments: ['*'], expires: '2027-01-31T12:00:00Z' }),
      '"expires" works only in an entry with',
    ],
    [present({ name: undefined }), '"name" is not 1 to 64 characters'],
    [present({ name: 'jwt:ci' }), '"name" is not 1 to 64 characters'],
    [present({ name: '-ci' }), '"name" is not 1 to 64 characters'],
    [present({ name: 'x'.repeat(65) }), '"name" is not 1 to 64 characters'],
    [present({ scopes: undefined }), '"scopes" is not a list of run, view'],
    [present({ scopes: 'run' }), '"scopes" is not a list of run, view'],
    [present({ scopes: ['run', 'walk'] }), '"walk" in "scopes" is none of run, view'],
    [present({ scope: 'admin' }), 'has no member "scope"; members are name, sha256, scopes'],
    [present({ expire: '2027-01-31T12:00:00Z' }), 'has no member "expire"'],
    [present({ scopes: ['executor'] }), '"executor" and "harness" need "environments"'],
    [present({ environments: 'ci' }), '"environments" is not a list of ids'],
    [present({ limits: null }), '"limits" is not an object'],
    [present({ limits: [] }), '"limits" is not an object'],
    [present({ limits: { session: 1 } }), '"limits" has no member "session"'],
    [present({ limits: { sessions: -1 } }), '"sessions" in "limits" is not a whole number'],
    [present({ limits: { sessions: '1' } }), '"sessions" in "limits" is not a whole number'],
    [present({ expires: '2027-01-31' }), '"expires" is not a date and time with a time zone'],
    [present({ expires: '2027-13-31T12:00:00Z' }), '"expires" is not a date and time with a time zone'],
    [present({ expires: 1e12 }), '"expires" is not a date and time with a time zone'],
    [
      file({ name: 'a', sha256: digest('A'), scopes: [] }, { name: 'b', sha256: digest('a'), scopes: [] }),
      'tokens[1]: is the token of tokens[0]',
    ],
    [
      file({ name: 'a', sha256: digest('0'), scopes: [] }, { name: 'a', sha256: digest('1'), scopes: [] }),
      'tokens[1]: has the name of tokens[0], "a"',
    ],
    [
      file(
        { name: '00000000', sha256: digest('1'), scopes: [] },
        { sha256: digest('0'), scope: 'admin', environments: [] },
      ),
      'tokens[1]: has the name of tokens[0], "00000000"',
    ],
  ])('are not read from %s', (text, reason) => {
    expect(() => parseTokens(text)).toThrow(reason);
  });

  it('grant the scopes they name and no other, whatever stands beside', () => {
    fc.assert(
      fc.property(fc.subarray([...tokenRights]), fc.option(fc.nat(5), { nil: undefined }), (scopes, sessions) => {
        const [token] = parseTokens(
          present({ scopes, environments: ['*'], limits: sessions === undefined ? {} : { sessions } }),
        );
        const ofServer = scopes.filter((scope) => scope !== 'executor' && scope !== 'harness');
        const grant = grantOf(token!);

        expect(harnessGrant(token!).scopes).toEqual(new Set(ofServer));
        if (ofServer.length === 0 && scopes.length > 0) expect(grant).toBeUndefined();
        else expect(grant).toEqual({ tokenName: 'ci', scopes: new Set(ofServer), limits: token!.limits });
      }),
    );
  });

  it('are never read from a mutilated file as more than they were', () => {
    const whole = present({ expires: '2027-01-31T12:00:00Z', limits: { sessions: 1 } });
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.string({ maxLength: 3, unit: 'grapheme-ascii' }), (at, put) => {
        const damaged = whole.slice(0, at) + put + whole.slice(at + 1);
        const read = ((): ReturnType<typeof parseTokens> => {
          try {
            return parseTokens(damaged);
          } catch {
            return []; // refused
          }
        })();
        for (const { rights, expiresAtMs, limits } of read) {
          expect([rights.length <= 1, expiresAtMs !== undefined, Object.keys(limits).length]).toEqual([true, true, 1]);
        }
      }),
    );
  });
});
