import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** The home directory of the user who executes. */
export function userHome(env: NodeJS.ProcessEnv): string {
  if (env.HOME) return resolve(env.HOME);
  try {
    return homedir();
  } catch {
    return '/'; // no account: nothing else is certain to be there
  }
}

/** Where the user's configuration, skills and plugins are: `CODEX_HOME`, or `.codex` in the home directory. */
export function codexHome(env: NodeJS.ProcessEnv): string {
  if (!env.CODEX_HOME) return join(userHome(env), '.codex');
  try {
    return realpathSync(env.CODEX_HOME);
  } catch {
    return resolve(env.CODEX_HOME); // missing: it has no layers, but it has a name
  }
}

/** Where an administrator puts configuration, requirements and skills for everyone. */
export const systemFolder = '/etc/codex';
