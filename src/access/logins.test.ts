import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AccessTokens } from './access-tokens.ts';
import type { Grant } from './grant.ts';
import { Logins } from './logins.ts';
import { parseTokens } from './token-entries.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const digest = (digit: string): string => digit.repeat(64);
const tokensOf = (...names: string[]) =>
  parseTokens(JSON.stringify({ tokens: names.map((name) => ({ name, sha256: digest(name), scopes: ['run'] })) }));

describe('the logins of a server', () => {
  it('end when their tokens are removed, and those of other tokens do not', async () => {
    const tokens = new AccessTokens(tokensOf('a', 'b'));
    const removed: string[] = [];
    using logins = new Logins();
    using _following = tokens.follow({
      replaced: (names) => {
        removed.push(...names);
        logins.review();
      },
      kept: () => {},
    });
    const [a, b] = [logins.open(() => tokens.grantOf(digest('a'))), logins.open(() => tokens.grantOf(digest('b')))];

    tokens.replace(tokensOf('b', 'c'));

    expect(await a.ended).toBe('revoked');
    expect([a.state.phase, b.state.phase, removed]).toEqual(['revoked', 'granted', ['a']]);
    expect([a.tokenName, b.tokenName]).toEqual(['a', 'b']);
  });

  it('end within a second of their expiry, also when the clock is set forward', async () => {
    let now = 0;
    const grant: Grant = { scopes: new Set(), limits: {}, expiresAtMs: 3_600_000 };
    using logins = new Logins(() => now);
    const login = logins.open(() => grant);
    vi.advanceTimersByTime(2000);
    expect(login.state.phase).toBe('granted');

    now = 3_600_000;
    vi.advanceTimersByTime(1000);

    expect(await login.ended).toBe('expired');
  });

  it('keep no timer where none can expire', () => {
    using logins = new Logins(() => 0);
    const never = logins.open(() => ({ scopes: new Set(), limits: {} }));
    expect(vi.getTimerCount()).toBe(0);

    const some = logins.open(() => ({ scopes: new Set(), limits: {}, expiresAtMs: 1 }));
    expect(vi.getTimerCount()).toBe(1);
    logins.close(some);
    logins.close(never);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('that are closed end no more', () => {
    let grant: Grant | undefined = { scopes: new Set(), limits: {} };
    using logins = new Logins();
    const login = logins.open(() => grant);
    logins.close(login);
    grant = undefined;
    logins.review();

    expect(login.state.phase).toBe('granted');
  });
});
