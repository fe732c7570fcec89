import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findAwsAccess } from './aws-profile.ts';

let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'exec-server-aws-'));
  env = { AWS_SHARED_CREDENTIALS_FILE: join(folder, 'credentials'), AWS_CONFIG_FILE: join(folder, 'config') };
  await writeFile(
    env.AWS_SHARED_CREDENTIALS_FILE!,
    '# keys\n[default]\naws_access_key_id = A\naws_secret_access_key = B=/+\n[work]\naws_access_key_id=C\naws_secret_access_key=D\naws_session_token=E\n',
  );
  await writeFile(env.AWS_CONFIG_FILE!, '[default]\nregion = eu-west-1\n[profile work]\nregion = eu-north-1\n');
});
afterAll(() => rm(folder, { recursive: true }));

describe('access to AWS', () => {
  it('comes from the default profile', async () => {
    expect(await findAwsAccess({}, env)).toEqual({
      region: 'eu-west-1',
      credentials: { accessKeyId: 'A', secretAccessKey: 'B=/+', sessionToken: undefined },
    });
  });

  it('comes from the profile asked for, before keys in the environment', async () => {
    const keys = { AWS_ACCESS_KEY_ID: 'X', AWS_SECRET_ACCESS_KEY: 'Y' };

    expect(await findAwsAccess({ profile: 'work' }, { ...env, ...keys })).toEqual({
      region: 'eu-north-1',
      credentials: { accessKeyId: 'C', secretAccessKey: 'D', sessionToken: 'E' },
    });
    expect(await findAwsAccess({ region: 'r' }, { ...env, ...keys })).toEqual({
      region: 'r',
      credentials: { accessKeyId: 'X', secretAccessKey: 'Y', sessionToken: undefined },
    });
  });

  it('is refused with what is missing', async () => {
    await expect(findAwsAccess({ profile: 'none', region: 'r' }, env)).rejects.toThrow(/no AWS keys .* profile none/);
    await expect(findAwsAccess({ profile: 'none' }, env)).rejects.toThrow(/no AWS region/);
  });
});
