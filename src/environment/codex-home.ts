import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The home directory of the account that executes. */
export function userHome(env: NodeJS.ProcessEnv = process.env): string {
  return env.HOME || homedir();
}

/** Where the user's configuration, skills and plugins are: `CODEX_HOME`, or `.codex` in the home directory. */
export function codexHome(env: NodeJS.ProcessEnv = process.env): string {
  if (!env.CODEX_HOME) return join(userHome(env), '.codex');
  try {
    return realpathSync(env.CODEX_HOME);
  } catch {
    return env.CODEX_HOME; // missing: it has no layers, but it has a name
  }
}

/** Where an administrator puts configuration, requirements and skills for everyone. */
export const systemFolder = '/etc/codex';
