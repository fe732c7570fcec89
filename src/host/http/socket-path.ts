import { once } from 'node:events';
import { chmodSync, chownSync, lstatSync, type Stats, statSync, unlinkSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import { dirname } from 'node:path';

export interface SocketPath {
  readonly path: string;
  /** A user besides the server's own whose programs may connect. */
  readonly user?: number | undefined;
}

/**
 * Listens on a Unix socket that only the server's user, root and `user` can connect to. A socket that a dead server has left
 * there is replaced.
 */
export async function listenOnPath(server: Server, { path, user }: SocketPath): Promise<void> {
  requireSafeFolder(path);
  await removeLeftover(path);
  const listening = once(server, 'listening');
  // Node binds in this call, so that the socket has its mode from its first moment.
  const mask = process.umask(0o177);
  try {
    server.listen({ path, backlog: 1024 });
  } finally {
    process.umask(mask);
  }
  await listening;
  if (user === undefined || user === process.geteuid?.()) return;
  // Only root can give the socket away; elsewhere its mode lets everyone in, and the credentials of the peer decide.
  if (process.geteuid?.() === 0) chownSync(path, user, -1);
  else chmodSync(path, 0o666);
}

/** Another user who can write the directory could put a socket of his own in the place of this one. */
function requireSafeFolder(path: string): void {
  const folder = dirname(path);
  const facts = statOf(() => statSync(folder));
  if (!facts?.isDirectory()) throw cannot(path, `there is no directory ${folder}; create it, or choose another path`);
  const isOpen = (facts.mode & 0o002) !== 0 && (facts.mode & 0o1000) === 0;
  if (isOpen)
    throw cannot(path, `every user can write to ${folder}; choose a directory of your own, such as $XDG_RUNTIME_DIR`);
}

async function removeLeftover(path: string): Promise<void> {
  const facts = statOf(() => lstatSync(path));
  if (!facts) return;
  if (!facts.isSocket()) throw cannot(path, 'a file that is not a socket is there; remove it, or choose another path');
  if (await isServed(path)) throw cannot(path, 'another program listens there; choose another path');
  unlinkSync(path);
}

function statOf(read: () => Stats): Stats | undefined {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => socket.destroy());
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT'));
    socket.once('close', (failed) => failed || resolve(true));
  });
}

const cannot = (path: string, reason: string): Error => new Error(`cannot listen on ${path}: ${reason}`);
