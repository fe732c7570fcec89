import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { ownCredential } from '../../host/own/index.ts';
import { apiKey, bearer, type Credentials } from './credentials.ts';
import { requireEncryption } from './registry-url.ts';

interface AuthFile {
  readonly OPENAI_API_KEY?: string | null;
  readonly tokens?: { readonly access_token?: string; readonly account_id?: string | null } | null;
}

/**
 * The sign-in state that Codex keeps in its home directory; undefined without one. The file is read again for every request, because
 * Codex refreshes the tokens in it.
 */
export async function signInState(env: NodeJS.ProcessEnv): Promise<Credentials | undefined> {
  const path = join(env.CODEX_HOME || join(homedir(), '.codex'), 'auth.json');
  const { OPENAI_API_KEY: key, tokens } = (await readAuthFile(path)) ?? {};
  if (tokens?.access_token) return { permit: requireEncryption, headers: () => signedIn(path) };
  return key ? apiKey(ownCredential(key)) : undefined;
}

async function signedIn(path: string): Promise<Readonly<Record<string, string>>> {
  const { access_token: token, account_id: account } = (await readAuthFile(path))?.tokens ?? {};
  if (!token) throw new Error('the ChatGPT sign-in state is gone; run `codex login`');
  return bearer(ownCredential(token), account ?? undefined);
}

async function readAuthFile(path: string): Promise<AuthFile | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(`cannot read the sign-in state ${path}: ${(error as NodeJS.ErrnoException).code}`);
  }
  try {
    return Object(JSON.parse(text)) as AuthFile;
  } catch {
    throw new Error(`the sign-in state ${path} is not JSON`); // without the parser's message, which quotes the file
  }
}
