import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type BigIntStats, chmodSync, chownSync, linkSync, lstatSync, renameSync, statSync, unlinkSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import { dirname, join } from 'node:path';

export interface SocketPath {
  readonly path: string;
  /** A user besides the server's own whose programs may connect. */
  readonly user?: number | undefined;
}

/** The longest path that the address of a Unix socket has room for. */
export const LONGEST_PATH_BYTES = 107;

/**
 * Listens on a Unix socket that only the server's user, root and `user` can connect to. A socket that a dead server has left
 * there is replaced. Disposing the result removes the socket from its path, unless something else is there by then.
 */
export async function listenOnPath(server: Server, { path, user }: SocketPath): Promise<Disposable> {
  requireSafeFolder(path);
  const leftover = await findLeftover(path);
  // Node removes what has the name of the socket when it closes, whosever it is: the socket is bound to a name that is gone by then.
  const bound = spareName(path);
  await bind(server, bound).catch((error) => {
    const folder = dirname(path);
    throw cannot(path, isCode(error, 'EACCES') ? `this user may not create files in ${folder}` : error.message);
  });
  const own = factsOf(bound)!;
  const file = { [Symbol.dispose]: () => void (isAt(path, own) && unlinkSync(path)) };
  try {
    if (leftover) removeLeftover(path, leftover);
    linkSync(bound, path);
    letIn(user, bound);
    unlinkSync(bound);
    return file;
  } catch (error) {
    file[Symbol.dispose]();
    server.close();
    throw isCode(error, 'EEXIST') ? cannot(path, IN_USE) : error;
  }
}

async function bind(server: Server, path: string): Promise<void> {
  const listening = once(server, 'listening');
  // Node binds in this call, so that the socket has its mode from its first moment.
  const mask = process.umask(0o177);
  try {
    server.listen({ path, backlog: 1024 });
  } finally {
    process.umask(mask);
  }
  await listening;
}

function letIn(user: number | undefined, path: string): void {
  if (user === undefined || user === process.geteuid?.()) return;
  // Only root can give the socket away; elsewhere its mode lets everyone in, and the credentials of the peer decide.
  if (process.geteuid?.() === 0) chownSync(path, user, -1);
  else chmodSync(path, 0o666);
}

/** A free name in the directory of a path, cut where the address of a socket has no room for more. */
function spareName(path: string): string {
  const folder = dirname(path);
  const room = LONGEST_PATH_BYTES - Buffer.byteLength(folder) - 1;
  return join(folder, `~${randomBytes(8).toString('hex')}`.slice(0, room));
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

/** The socket of a dead server at this path. */
async function findLeftover(path: string): Promise<BigIntStats | undefined> {
  const facts = factsOf(path);
  if (!facts) return undefined;
  if (!facts.isSocket()) throw cannot(path, 'a file that is not a socket is there; remove it, or choose another path');
  if (await isServed(path)) throw cannot(path, IN_USE);
  return facts;
}

/** Another server may have replaced the leftover meanwhile: what is at the path is moved away, looked at, and put back if it is another socket. */
function removeLeftover(path: string, leftover: BigIntStats): void {
  if (!isAt(path, leftover)) return;
  const aside = spareName(path);
  try {
    renameSync(path, aside);
  } catch (error) {
    if (isCode(error, 'ENOENT')) return;
    throw error;
  }
  if (isAt(aside, leftover)) unlinkSync(aside);
  else renameSync(aside, path);
}

/** Whether this file is at a path; the number of a file that exists, or is listened on, belongs to no other. */
function isAt(path: string, file: BigIntStats): boolean {
  const facts = factsOf(path);
  return facts?.dev === file.dev && facts.ino === file.ino;
}

const factsOf = (path: string): BigIntStats | undefined => statOf(() => lstatSync(path, { bigint: true }));

function statOf<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
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

const IN_USE = 'another program listens there; choose another path';

const isCode = (error: unknown, code: string): boolean => (error as NodeJS.ErrnoException).code === code;

const cannot = (path: string, reason: string): Error => new Error(`cannot listen on ${path}: ${reason}`);
