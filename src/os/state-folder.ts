import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where a user's servers keep what must outlive them. */
export const stateFolder = (env: NodeJS.ProcessEnv): string =>
  join(env.XDG_STATE_HOME || join(homedir(), '.local', 'state'), 'exec-server');
