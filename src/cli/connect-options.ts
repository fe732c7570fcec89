import { readFileSync } from 'node:fs';
import type { Connector } from '../client/index.ts';
import { webSocket } from '../link/index.ts';
import { UsageError } from './usage-error.ts';

/** What ssh answers when the fault is not the command's. */
export const CONNECTION_FAILED = 255;

export const tokenOption = {
  type: 'string',
  value: 'PATH',
  help: 'file with the bearer token to present [env: EXEC_SERVER_TOKEN holds the token itself]',
} as const;

/** Connects with the token of the file, or of the environment, if there is one. */
export function connectorTo(url: string, tokenFile: string | undefined): Connector {
  const token = tokenFile === undefined ? process.env.EXEC_SERVER_TOKEN : readToken(tokenFile);
  return webSocket(url, token === undefined ? {} : { token });
}

function readToken(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new UsageError(`cannot read the token file ${path}: ${(error as NodeJS.ErrnoException).code}`);
  }
}
