import { statSync } from 'node:fs';
import { type CommandRequest, LOCAL_ENVIRONMENT } from './command-request.ts';

/** Which directory a command is to run in, whatever leads to it; nothing where that cannot be told, as on another machine. */
export function directoryPin({ cwd, environmentId }: CommandRequest): string | undefined {
  if (environmentId !== LOCAL_ENVIRONMENT) return undefined;
  const status = statSync(cwd, { bigint: true, throwIfNoEntry: false });
  return status && `${status.dev}:${status.ino}`;
}
