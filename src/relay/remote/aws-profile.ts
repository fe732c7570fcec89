import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { AwsCredentials } from './aws-signature.ts';

export interface AwsAccess {
  readonly credentials: AwsCredentials;
  readonly region: string;
}

type Section = Readonly<Record<string, string>>;

/** Finds keys and region in the options, the environment, and the files that the AWS tools share. */
export async function findAwsAccess(
  asked: { readonly profile?: string | undefined; readonly region?: string | undefined },
  env: NodeJS.ProcessEnv,
): Promise<AwsAccess> {
  const profile = asked.profile ?? env.AWS_PROFILE ?? 'default';
  const home = join(env.HOME ?? homedir(), '.aws');
  const keys = await readSection(env.AWS_SHARED_CREDENTIALS_FILE ?? join(home, 'credentials'), profile);
  const title = profile === 'default' ? profile : `profile ${profile}`;
  const config = await readSection(env.AWS_CONFIG_FILE ?? join(home, 'config'), title);
  const region = asked.region ?? env.AWS_REGION ?? env.AWS_DEFAULT_REGION ?? config.region ?? keys.region;
  if (!region) throw new Error('no AWS region to sign for: use --aws-region, AWS_REGION or the profile');
  // A profile that an option names wins over keys in the environment.
  const found =
    asked.profile === undefined ? (keysIn(env) ?? keysIn({ ...config, ...keys })) : keysIn({ ...config, ...keys });
  if (found) return { credentials: found, region };
  throw new Error(
    `no AWS keys in the environment or in profile ${profile}; single sign-on, assumed roles and instance metadata are not supported: export temporary keys instead`,
  );
}

function keysIn(source: Readonly<Record<string, string | undefined>>): AwsCredentials | undefined {
  const value = (name: string): string | undefined => source[name.toUpperCase()] || source[name] || undefined;
  const accessKeyId = value('aws_access_key_id');
  const secretAccessKey = value('aws_secret_access_key');
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  return { accessKeyId, secretAccessKey, sessionToken: value('aws_session_token') };
}

async function readSection(path: string, title: string): Promise<Section> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return {};
    throw new Error(`cannot read ${path}: ${code}`);
  }
  let current = '';
  const section: Record<string, string> = {};
  for (const line of text.split('\n').map((raw) => raw.trim())) {
    const [, heading] = /^\[\s*(.+?)\s*\]$/.exec(line) ?? [];
    if (heading !== undefined) current = heading;
    const [, name, value] = /^([^#;=]+?)\s*=\s*(.*)$/.exec(line) ?? [];
    if (current === title && name !== undefined && value !== undefined) section[name] = value;
  }
  return section;
}
