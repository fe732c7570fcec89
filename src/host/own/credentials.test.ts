import { expect, it } from 'vitest';
import { isOwnVariable, takeCredential } from './credentials.ts';

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
