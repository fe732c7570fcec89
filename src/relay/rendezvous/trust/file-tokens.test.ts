import { describe, expect, it } from 'vitest';
import { AccessTokens, parseTokens, tokenDigest, unnamedGrant } from '../../../access/index.ts';
import { FileTokens, freshTokens } from './file-tokens.ts';
import { scopes } from './identity.ts';

const tokensOf = (...entries: object[]): AccessTokens =>
  new AccessTokens(parseTokens(JSON.stringify({ tokens: entries })));
const older = (token: string, scope: string, environments: string[]) => ({
  sha256: tokenDigest(token),
  scope,
  environments,
});
const named = (name: string, granted: string[], more: object = {}) => ({
  ...{ name, sha256: tokenDigest(name), scopes: granted, environments: ['*'] },
  ...more,
});

describe('the tokens of a file', () => {
  it('are good for their scope and their environments', async () => {
    const tokens = new FileTokens(tokensOf(older('one', 'executor', ['ci-*', 'build1']), older('two', 'harness', [])));
    const one = await tokens.identify('one');

    expect(one?.name).toBe(tokenDigest('one').slice(0, 8));
    expect(['ci-7', 'ci-', 'build1', 'build11', 'other', 'xci-7'].map((id) => one?.mayAct('executor', id))).toEqual([
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
    const { shown, verifier } = freshTokens();
    for (const scope of scopes) {
      const identity = await verifier.identify(shown[scope]);
      expect(scopes.filter((other) => identity?.mayAct(other, 'anything'))).toEqual([scope]);
    }
  });

  it('get their rights at the rendezvous from these alone', async () => {
    const tokens = new FileTokens(
      tokensOf(named('runner', ['run', 'view', 'files', 'forward', 'approve']), named('op', ['admin'])),
    );

    const runner = await tokens.identify('runner');
    expect(scopes.filter((scope) => runner?.holds(scope))).toEqual([]);
    const op = await tokens.identify('op');
    expect(scopes.filter((scope) => op?.holds(scope))).toEqual(['admin']);
  });

  it('let a harness do in its environments what they name; the form that named nothing means all but admin', async () => {
    const tokens = new FileTokens(
      tokensOf(named('plain', ['harness']), named('viewer', ['harness', 'view']), named('both', ['harness', 'admin']), {
        ...older('first', 'harness', ['*']),
        name: 'first',
      }),
    );
    const grant = async (token: string) => (await tokens.identify(token))?.grant;

    expect(await grant('plain')).toEqual({ tokenName: 'plain', scopes: new Set(), limits: {} });
    expect(await grant('viewer')).toEqual({ tokenName: 'viewer', scopes: new Set(['view']), limits: {} });
    expect(await grant('both')).toEqual({ tokenName: 'both', scopes: new Set(['admin']), limits: {} });
    expect(await grant('first')).toEqual({ ...unnamedGrant, tokenName: 'first' });
  });

  it('have another mark once a harness may do something else, and only then', async () => {
    const known = tokensOf(named('one', ['harness', 'run', 'view']), named('box', ['executor']));
    const tokens = new FileTokens(known);
    const mark = (await tokens.identify('one'))!.mark;

    known.replace(parseTokens(JSON.stringify({ tokens: [named('one', ['view', 'run', 'harness'])] })));
    expect(tokens.marked(mark)?.mark).toBe(mark);
    for (const entry of [
      named('one', ['harness', 'run']),
      named('one', ['harness', 'run', 'view'], { limits: { sessions: 1 } }),
    ]) {
      known.replace(parseTokens(JSON.stringify({ tokens: [entry] })));
      expect(tokens.marked(mark)?.name).toBe('one');
      expect(tokens.marked(mark)?.mark).not.toBe(mark);
    }
  });

  it('are good until they expire or are removed, also by their mark', async () => {
    let now = Date.UTC(2027, 0, 1) - 1;
    const known = tokensOf(
      named('brief', ['harness'], { expires: '2027-01-01T00:00:00Z' }),
      named('kept', ['harness']),
    );
    const tokens = new FileTokens(known, () => now);
    const { mark } = (await tokens.identify('brief'))!;
    const kept = (await tokens.identify('kept'))!.mark;
    expect([tokens.marked(mark)?.name, tokens.marked(kept)?.name, tokens.marked('')]).toEqual([
      'brief',
      'kept',
      undefined,
    ]);

    now++;
    expect([await tokens.identify('brief'), tokens.marked(mark)]).toEqual([undefined, undefined]);
    known.replace([]);
    expect(tokens.marked(kept)).toBeUndefined();
  });
});
