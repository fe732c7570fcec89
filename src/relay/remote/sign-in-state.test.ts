import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { signInState } from './sign-in-state.ts';

const never = new AbortController().signal;
let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'exec-server-home-'));
});
afterEach(() => rm(home, { recursive: true }));

const write = (text: string): Promise<void> => writeFile(join(home, 'auth.json'), text);
const tokens = (access_token: string): string =>
  JSON.stringify({ OPENAI_API_KEY: null, tokens: { id_token: 'i', access_token, account_id: 'account' } });

describe('the sign-in state of Codex', () => {
  it('gives the access token and the account, as they are now', async () => {
    await write(tokens('one'));
    const credentials = await signInState({ CODEX_HOME: home });
    expect(await credentials?.headers(never)).toEqual({
      authorization: 'Bearer one',
      'chatgpt-account-id': 'account',
    });

    await write(tokens('two'));

    expect(await credentials?.headers(never)).toMatchObject({ authorization: 'Bearer two' });
  });

  it('gives an API key, which only its issuer may see', async () => {
    await write('{"OPENAI_API_KEY":"sk-1","tokens":null}');
    const credentials = await signInState({ CODEX_HOME: home });

    expect(await credentials?.headers(never)).toEqual({ authorization: 'Bearer sk-1' });
    expect(() => credentials?.permit(new URL('https://registry.example'))).toThrow(/API-key/);
  });

  it('may be missing', async () => {
    expect(await signInState({ CODEX_HOME: home })).toBeUndefined();
    await write('{}');
    expect(await signInState({ CODEX_HOME: home })).toBeUndefined();
  });

  it('is not quoted when it is broken', async () => {
    await write('{"tokens": secret}');

    await expect(signInState({ CODEX_HOME: home })).rejects.toThrow(/auth\.json is not JSON$/);
  });
});
