import { statSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';

export interface StatePlace {
  readonly folder: string;
  /** Why another folder is used than usual. */
  readonly reason?: string;
}

/**
 * The folder where a user's servers keep files that must outlive them. A missing home directory is not created, as it may be
 * created later with its usual contents.
 */
export function statePlace(env: NodeJS.ProcessEnv): StatePlace {
  if (env.XDG_STATE_HOME) return { folder: join(env.XDG_STATE_HOME, 'exec-server') };
  const home = homedir();
  if (isDirectory(home)) return { folder: join(home, '.local', 'state', 'exec-server') };
  const folder = join(tmpdir(), `exec-server-${process.geteuid?.()}`);
  return { folder, reason: `the home directory ${home} does not exist` };
}

export const stateFolder = (env: NodeJS.ProcessEnv): string => statePlace(env).folder;

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
