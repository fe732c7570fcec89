import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, renameSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { announced, serverProgram, type TestServer } from '../../support/server.ts';

/** A listening socket for another process; this one gives it up as soon as the other has it. */
export interface ListeningSocket {
  readonly server: Server;
  readonly port: number;
  readonly path?: string;
}

export interface Passed {
  /** In the order of their descriptors, from 3 on. */
  readonly sockets: readonly ListeningSocket[];
  readonly names?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** The number that LISTEN_PID has; that of the server unless another is given. */
  readonly pid?: string;
}

/** Starts a server as systemd does: LISTEN_PID is known only in the process that becomes the server. */
export function startPassed(args: readonly string[], { sockets, names, env, pid = '$$' }: Passed): ChildProcess {
  const handles = sockets.map(({ server }) => (server as unknown as { _handle: { fd: number } })._handle.fd);
  const variables = [`LISTEN_PID=${pid}`, `LISTEN_FDS=${sockets.length}`];
  if (names) variables.push(`LISTEN_FDNAMES=${names.join(':')}`);
  const script = `export ${variables.join(' ')}; exec "$@"`;
  const child = spawn('sh', ['-c', script, 'sh', process.execPath, serverProgram, ...args], {
    stdio: ['ignore', 'pipe', 'pipe', ...handles],
    env: { ...process.env, EXEC_SERVER_LOG: 'info', ...env },
  });
  sockets.forEach(giveUp);
  return child;
}

/** Closes it in this process. Node removes the name of a Unix socket then, so that it needs another. */
function giveUp({ server, path }: ListeningSocket): void {
  if (path !== undefined) linkSync(path, `${path}.kept`);
  server.close();
  if (path !== undefined) renameSync(`${path}.kept`, path);
}

export const serveOn = (args: readonly string[], passed: Passed): Promise<TestServer> =>
  announced(startPassed(args, passed));

export async function socketAt(place: { host: string; port: number } | { path: string }): Promise<ListeningSocket> {
  const server = createServer();
  server.listen(place);
  await once(server, 'listening');
  if ('path' in place) return { server, path: place.path, port: 0 };
  return { server, port: (server.address() as AddressInfo).port };
}

export const loopback = { host: '127.0.0.1', port: 0 };
