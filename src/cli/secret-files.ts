import { homedir } from 'node:os';
import { join } from 'node:path';
import { stateFolder } from '../host/own/index.ts';

/** Options whose value is a file that holds a token or a key. */
const SECRET_OPTIONS = [
  'ws-token-file',
  'ws-shared-secret-file',
  'tls-key',
  'remote-token-file',
  'token-file',
  'http-token-file',
  'tokens-file',
  'jwt-keys-file',
  'secret-file',
  'nats-creds-file',
];

/** Files and directories that no sandboxed command may see: those with secrets that options name, the sign-in state, and the state folder. */
export function secretFiles(values: Readonly<Record<string, unknown>>, env: NodeJS.ProcessEnv): readonly string[] {
  const named = SECRET_OPTIONS.map((option) => values[option]).filter((value) => typeof value === 'string');
  const signIn = values.remote === undefined ? [] : [join(env.CODEX_HOME || join(homedir(), '.codex'), 'auth.json')];
  return [...named, ...signIn, stateFolder(env)];
}
