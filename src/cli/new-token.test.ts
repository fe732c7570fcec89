import { describe, expect, it } from 'vitest';
import { newToken } from './new-token.ts';
import { tokenTable } from './token-list.ts';

const now = Date.UTC(2026, 0, 1);
const usual = { name: 'ci', scopes: ['run'] };

describe('the options of a new token', () => {
  it('make its entry', () => {
    const values = {
      ...{ name: 'ci', scopes: ['run,view', 'harness'], environments: ['ci-*', 'build'], expires: '12h' },
      ...{ sessions: '2', processes: '10', 'durable-bytes': '0' },
    };

    expect(newToken(values, now)).toEqual({
      name: 'ci',
      scopes: ['run', 'view', 'harness'],
      environments: ['ci-*', 'build'],
      limits: { sessions: 2, processes: 10, durableBytes: 0 },
      expires: '2026-01-01T12:00:00.000Z',
    });
    expect(newToken({ name: 'probe', scopes: ['none'] }, now)).toEqual({ name: 'probe', scopes: [] });
  });

  it.each([
    ['30s', '2026-01-01T00:00:30.000Z'],
    ['90m', '2026-01-01T01:30:00.000Z'],
    ['30d', '2026-01-31T00:00:00.000Z'],
    ['2027-01-31T12:00:00+01:00', '2027-01-31T11:00:00.000Z'],
  ])('take %s as its end', (expires, time) => {
    expect(newToken({ ...usual, expires }, now).expires).toBe(time);
  });

  it.each([
    [{ scopes: ['run'] }, '--name NAME is required'],
    [{ ...usual, name: 'a b' }, "invalid value 'a b' for --name: expected 1 to 64 characters"],
    [{ name: 'ci' }, '--scopes is required: run, view, files'],
    [{ ...usual, scopes: [''] }, '--scopes is required'],
    [{ ...usual, scopes: ['run,walk'] }, "invalid value 'walk' for --scopes: expected run, view"],
    [{ ...usual, scopes: ['none', 'run'] }, "invalid value 'none' for --scopes"],
    [{ ...usual, scopes: ['executor'] }, 'scope executor needs --environments'],
    [{ ...usual, environments: ['a/b'] }, "invalid value 'a/b' for --environments"],
    [{ ...usual, expires: 'soon' }, "invalid value 'soon' for --expires: expected a time such as"],
    [{ ...usual, expires: '2027-01-31' }, "invalid value '2027-01-31' for --expires"],
    [{ ...usual, expires: '2025-01-31T12:00:00Z' }, '--expires 2025-01-31T12:00:00Z is over already'],
    [{ ...usual, expires: '0s' }, '--expires 0s is over already'],
    [{ ...usual, sessions: '-1' }, "invalid value '-1' for --sessions: expected a whole number"],
    [{ ...usual, processes: '1.5' }, "invalid value '1.5' for --processes: expected a whole number"],
  ])('%j are refused', (values, reason) => {
    expect(() => newToken(values, now)).toThrow(reason);
  });
});

describe('the list of tokens', () => {
  it('has a line for each', () => {
    const bare = { name: 'a', sha256: '0'.repeat(64), rights: [], environments: [], limits: {} };
    const full = {
      ...bare,
      name: 'long-name',
      rights: ['run', 'harness'] as const,
      environments: ['*'],
      limits: { sessions: 1 },
    };

    expect(tokenTable([bare, { ...full, expiresAtMs: now }], now).split('\n')).toEqual([
      'NAME       SCOPES       ENVIRONMENTS  LIMITS      EXPIRES',
      'a          none         -             -           never',
      'long-name  run,harness  *             sessions=1  2026-01-01T00:00:00.000Z (expired)',
      '',
    ]);
    expect(tokenTable([], now)).toBe('no tokens\n');
  });
});
