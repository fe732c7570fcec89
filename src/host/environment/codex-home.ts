import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** The home directory of the user that the server runs as. */
export function userHome(env: NodeJS.ProcessEnv): string {
  if (env.HOME) return resolve(env.HOME);
  try {
    return resolve(homedir());
  } catch {
    return '/'; // no account: no other directory is certain to exist
  }
}

/** Where the user's configuration, skills and plugins are: `CODEX_HOME`, or `.codex` in the home directory. */
export function codexHome(env: NodeJS.ProcessEnv): string {
  if (!env.CODEX_HOME) return join(userHome(env), '.codex');
  try {
    return realpathSync(env.CODEX_HOME);
  } catch {
    return resolve(env.CODEX_HOME); // missing, but its path is still reported
  }
}

/** The administrator's folder with configuration, requirements and skills for all users. */
export const systemFolder = '/etc/codex';
