import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { isOwnCredential, isOwnVariable, ownClientTokens, takeCredential } from './credentials.ts';

it('a variable that a credential was read from counts as one, in any case of letters and with any value', () => {
  const env: NodeJS.ProcessEnv = { SIGNING_KEY: 'of the executor', OTHER: 'of the user' };
  expect(isOwnVariable('SIGNING_KEY', 'another')).toBe(false);

  expect(takeCredential(env, 'SIGNING_KEY')).toBe('of the executor');

  expect(env).toEqual({ OTHER: 'of the user' });
  expect(isOwnVariable('SIGNING_KEY', 'another')).toBe(true);
  expect(isOwnVariable('signing_key', undefined)).toBe(true);
  expect(isOwnVariable('COPY', 'of the executor')).toBe(true);
  expect(isOwnVariable('OTHER', 'of the user')).toBe(false);
});

it('the tokens of clients count as credentials for as long as they are accepted, however many there are', () => {
  const digest = (token: string) => createHash('sha256').update(token).digest('hex');
  ownClientTokens(Array.from({ length: 1000 }, (_, index) => digest(`token ${index}`)));
  expect([isOwnCredential('token 0'), isOwnCredential('token 999'), isOwnCredential('another')]).toEqual([
    true,
    true,
    false,
  ]);

  ownClientTokens([digest('another')]);
  expect([isOwnCredential('token 0'), isOwnCredential('another'), isOwnCredential('')]).toEqual([false, true, false]);
});
