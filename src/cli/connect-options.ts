import { readFileSync } from 'node:fs';
import type { Connector } from '../client/index.ts';
import { Outgoing } from '../host/http/index.ts';
import { ownCredential } from '../host/own/index.ts';
import { ConnectionRefused, splitTokenUrl, webSocket } from '../link/index.ts';
import type { OptionTable, Values } from './arguments.ts';
import { readFlag, UsageError } from './usage-error.ts';

/** The exit code of ssh for failures of the connection, not of the command. */
export const CONNECTION_FAILED = 255;

export const tokenOption = {
  type: 'string',
  value: 'PATH',
  help: 'file with the bearer token to present [env: EXEC_SERVER_TOKEN holds the token itself; with --remote, CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN]',
} as const;

/** A server that is found by the id it registered with, instead of its address. */
export const remoteServerOptions = {
  remote: {
    type: 'string',
    value: 'URL',
    help: 'base URL of the registry to find the server through, end to end encrypted [env: CODEX_EXEC_SERVER_NOISE_CHATGPT_ACCOUNT_ID names an account]',
  },
  'environment-id': { type: 'string', value: 'ID', help: 'id that the server registered as, with --remote' },
} as const satisfies OptionTable;

type ServerValues = Values<typeof remoteServerOptions> & {
  readonly connect?: string;
  readonly 'token-file'?: string;
};

/** Connects to the server that the options name; undefined if they name none. */
export async function chosenConnector(values: ServerValues): Promise<Connector | undefined> {
  const { connect, remote, 'environment-id': environmentId, 'token-file': tokenFile } = values;
  if ((remote === undefined) !== (environmentId === undefined)) {
    throw new UsageError('--remote and --environment-id are needed together');
  }
  if (remote !== undefined && connect !== undefined) {
    throw new UsageError('--remote cannot be used together with --connect');
  }
  if (remote !== undefined) return await connectorViaRegistry(remote, environmentId!, tokenFile);
  if (connect === undefined) return undefined;
  if (!/[?&]role=harness\b/.test(connect)) return connectorTo(connect, tokenFile);
  const { viaPlainRelay } = await import('../relay/remote/index.ts');
  return viaPlainRelay(connect, new Outgoing(process.env)); // URLs of this form lead to a rendezvous without Noise
}

function connectorTo(address: string, tokenFile: string | undefined): Connector {
  const { url, token } = serverAt(address, tokenFile);
  const { roots } = new Outgoing(process.env);
  const connect = webSocket(url, { roots: () => roots.context, ...(token !== undefined && { token }) });
  return (signal) => connect(signal).catch((error: Error) => Promise.reject(withRemedy(error)));
}

function withRemedy(error: Error): Error {
  if (!(error instanceof ConnectionRefused) || error.status !== 401) return error;
  const remedy = 'give its token with --token-file or in EXEC_SERVER_TOKEN';
  return new Error(`${error.message}; ${remedy}`, { cause: error });
}

/** The server that `--connect` names, and the token of the file, of the URL or of the environment, if there is one. */
export function serverAt(address: string, tokenFile: string | undefined): { url: string; token?: string } {
  const { url, token: urlToken } = splitTokenUrl(address);
  if (!/^unix:\//.test(url) && !(/^(ws|http)s?:/.test(url) && URL.canParse(url))) {
    throw new UsageError(
      `invalid value '${url}' for --connect: expected ws://HOST:PORT, wss://HOST:PORT or unix:/PATH`,
    );
  }
  if (urlToken !== undefined) {
    process.title = 'exec-server'; // other users see the arguments of a program
    process.stderr.write(
      'warning: the token stands in the arguments, where other users and the history of the shell can have it; ' +
        'use --token-file or EXEC_SERVER_TOKEN\n',
    );
  }
  const token =
    tokenFile === undefined ? ownCredential(urlToken ?? process.env.EXEC_SERVER_TOKEN) : readToken(tokenFile);
  return { url, ...(token !== undefined && { token }) };
}

async function connectorViaRegistry(
  registryUrl: string,
  environmentId: string,
  tokenFile: string | undefined,
): Promise<Connector> {
  const token =
    tokenFile === undefined ? ownCredential(process.env.CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN) : readToken(tokenFile);
  if (!token) {
    throw new UsageError('--remote needs a token: set CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN or use --token-file');
  }
  const { bearerToken, parseEnvironmentId, parseRegistryUrl, viaRegistry } = await import('../relay/remote/index.ts');
  readFlag(() => parseRegistryUrl(registryUrl));
  readFlag(() => parseEnvironmentId(environmentId));
  const credentials = bearerToken(token, process.env.CODEX_EXEC_SERVER_NOISE_CHATGPT_ACCOUNT_ID);
  const onWaiting = process.stderr.isTTY ? waitingLine(environmentId) : undefined;
  return viaRegistry({ registryUrl, environmentId, credentials, onWaiting, outgoing: new Outgoing(process.env) });
}

/** Prints once why nothing happens yet. */
function waitingLine(environmentId: string): (reason: Error) => void {
  let isPrinted = false;
  return ({ message }) => {
    if (!isPrinted) process.stderr.write(`waiting for environment ${environmentId}: ${message}\n`);
    isPrinted = true;
  };
}

export function readToken(path: string): string {
  const token = tokenIn(path);
  if (token === '') throw new UsageError(`the token file ${path} is empty: write the token into it`);
  return ownCredential(token);
}

function tokenIn(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new UsageError(`cannot read the token file ${path}: ${(error as NodeJS.ErrnoException).code}`);
  }
}
