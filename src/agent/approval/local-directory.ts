import { statSync } from 'node:fs';
import { type CommandRequest, LOCAL_ENVIRONMENT } from './command-request.ts';

/** Identifies the directory that a command is to run in; undefined on another machine, and where there is none. */
export function localDirectoryIdentity({ cwd, environmentId }: CommandRequest): string | undefined {
  if (environmentId !== LOCAL_ENVIRONMENT) return undefined;
  const status = statSync(cwd, { bigint: true, throwIfNoEntry: false });
  return status && `${status.dev}:${status.ino}`;
}
