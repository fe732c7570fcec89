import { describe, expect, it } from 'vitest';
import { type Grant, unnamedGrant } from './grant.ts';
import { Login } from './login.ts';

const viewer: Grant = { tokenName: 'ci', scopes: new Set(['view']), limits: {}, expiresAtMs: 1000 };

describe('a login', () => {
  it('follows its token: what it may do changes with it', () => {
    let grant = viewer;
    const login = new Login(
      () => grant,
      () => 0,
    );
    expect(login.state).toEqual({ phase: 'granted', grant: viewer });

    grant = { ...viewer, scopes: new Set() };
    login.review();
    expect(login.state).toEqual({ phase: 'granted', grant });
  });

  it('ends when its token expires, and stays so when the clock is set back', () => {
    let now = 999;
    const login = new Login(
      () => viewer,
      () => now,
    );
    expect(login.state.phase).toBe('granted');

    now = 1000;
    expect(login.state).toEqual({ phase: 'expired' });
    now = 0;
    expect(login.state).toEqual({ phase: 'expired' });
  });

  it('ends when its token is removed, and stays so when the token is added again', () => {
    let grant: Grant | undefined = unnamedGrant;
    const login = new Login(() => grant);
    grant = undefined;
    login.review();
    expect(login.state).toEqual({ phase: 'revoked' });

    grant = unnamedGrant;
    login.review();
    expect(login.state).toEqual({ phase: 'revoked' });
  });
});
