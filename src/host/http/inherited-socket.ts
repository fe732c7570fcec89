import { readFileSync, readlinkSync } from 'node:fs';
import type { Server } from 'node:net';

/** A listening socket that the parent of this process has opened. */
export interface InheritedSocket {
  readonly descriptor: number;
}

/** Accepts connections on an inherited socket; gives the path of a Unix socket. */
export async function listenOnInherited(server: Server, { descriptor }: InheritedSocket): Promise<string | undefined> {
  requireSocket(descriptor);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(cannot(descriptor, error.message)));
    server.listen({ fd: descriptor, backlog: 1024 }, resolve);
  });
  if (server.address() !== null) return undefined;
  const path = socketPathOf(descriptor);
  if (path?.startsWith('/')) return path;
  server.close();
  throw cannot(descriptor, 'a Unix socket without a path can be reached by every process; use one of the file system');
}

/** The path of a Unix socket, which Node does not know of an inherited one; `@` begins the name of an abstract one. */
function socketPathOf(descriptor: number): string | undefined {
  const inode = /^socket:\[(\d+)\]$/.exec(linkOf(descriptor))?.[1];
  const line = readFileSync('/proc/net/unix', 'utf8')
    .split('\n')
    .find((candidate) => candidate.split(/\s+/)[6] === inode);
  return line?.split(/\s+/).slice(7).join(' ') || undefined;
}

/** Node would take any descriptor and fail later: one of its own, or that of a file. */
function requireSocket(descriptor: number): void {
  const link = linkOf(descriptor);
  if (link === '') throw cannot(descriptor, 'it is not open');
  if (!link.startsWith('socket:')) throw cannot(descriptor, `it is no socket but ${link}`);
}

function linkOf(descriptor: number): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return ''; // not open
  }
}

const cannot = (descriptor: number, reason: string): Error =>
  new Error(`cannot listen on descriptor ${descriptor}: ${reason}`);
