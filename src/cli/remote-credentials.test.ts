import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Outgoing } from '../host/http/index.ts';
import { chooseCredentials, takeAwsAccess } from './remote-credentials.ts';

const never = new AbortController().signal;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'exec-server-credentials-'));
  await writeFile(join(folder, 'token'), 'from-file\n');
  await writeFile(join(folder, 'auth.json'), '{"tokens":{"access_token":"signed-in","account_id":"account"}}');
});
afterAll(() => rm(folder, { recursive: true }));

describe('the credentials of a remote environment', () => {
  it('come from the file named, else the API key, else the sign-in state', async () => {
    const authorization = async (file: boolean, key: boolean): Promise<string | undefined> => {
      const values = file ? { 'remote-token-file': join(folder, 'token') } : {};
      const env = { CODEX_HOME: folder, ...(key && { CODEX_API_KEY: 'key' }) };
      return (await (await chooseCredentials(values, 'env', env, Outgoing.direct)).headers(never)).authorization;
    };

    expect([
      await authorization(true, true),
      await authorization(false, true),
      await authorization(false, false),
    ]).toEqual(['Bearer from-file', 'Bearer key', 'Bearer signed-in']);
  });

  it('are removed from the variables that children inherit, used or not', async () => {
    const env = { CODEX_HOME: folder, CODEX_API_KEY: 'key', CODEX_ACCESS_TOKEN: 'token' };

    await chooseCredentials({ 'remote-token-file': join(folder, 'token') }, 'env', env, Outgoing.direct);

    expect(env).toEqual({ CODEX_HOME: folder });
  });

  it('of an agent identity are required with --use-agent-identity-auth', async () => {
    await expect(chooseCredentials({ 'use-agent-identity-auth': true }, 'env', {}, Outgoing.direct)).rejects.toThrow(
      'CODEX_ACCESS_TOKEN is required when --use-agent-identity-auth is set',
    );
  });

  it('for AWS are removed from the variables as well', async () => {
    const env = {
      HOME: folder,
      AWS_REGION: 'eu-west-1',
      AWS_ACCESS_KEY_ID: 'A',
      AWS_SECRET_ACCESS_KEY: 'B',
      AWS_SESSION_TOKEN: 'C',
    };

    expect(await takeAwsAccess({ 'aws-service': 'lambda' }, env)).toEqual({
      credentials: { accessKeyId: 'A', secretAccessKey: 'B', sessionToken: 'C' },
      scope: { region: 'eu-west-1', service: 'lambda' },
    });
    expect(env).toEqual({ HOME: folder, AWS_REGION: 'eu-west-1' });
  });
});
