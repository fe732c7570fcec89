import { expect, it } from 'vitest';
import { unnamedGrant } from './grant.ts';
import { harnessFacts, relayedGrant } from './relayed-grant.ts';

it('the facts of a grant give the same grant at the other end', () => {
  const grant = { tokenName: 'ci', scopes: new Set(['view', 'files'] as const), limits: { sessions: 2, processes: 3 } };

  expect(relayedGrant(JSON.parse(JSON.stringify(harnessFacts(grant))))).toEqual(grant);
});

it.each([
  [{}, undefined, [...unnamedGrant.scopes], {}],
  [{ token: 7, scopes: 'run', limits: null }, undefined, [], {}],
  [
    { token: 'ci', scopes: ['run', 'unknown', 7], limits: { sessions: 'many', processes: 1 } },
    'ci',
    ['run'],
    { processes: 1 },
  ],
])('of a registry that tells %j', (told, tokenName, scopes, limits) => {
  expect(relayedGrant(told)).toEqual({ tokenName, scopes: new Set(scopes), limits });
});
