import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { pipeline } from 'node:stream';

/** All addresses of a host, none when it has none. */
export async function resolveHost(host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  } catch {
    return []; // an unknown name and a silent name server mean the same to the policy
  }
}

/** How long one address may take to answer. */
const CONNECT_MS = 10_000;

/** Connects to the first address that answers. */
export async function connectTo(addresses: readonly string[], port: number, signal: AbortSignal): Promise<Socket> {
  let failure: unknown = new Error('the host has no address');
  for (const host of addresses) {
    const socket = connect({ host, port, allowHalfOpen: true, noDelay: true });
    socket.on('error', () => socket.destroy());
    socket.setTimeout(CONNECT_MS, () => socket.destroy(new Error('the host does not answer')));
    try {
      await once(socket, 'connect', { signal });
      socket.setTimeout(0);
      return socket;
    } catch (error) {
      socket.destroy();
      failure = error;
      signal.throwIfAborted();
    }
  }
  throw failure;
}

/** Carries bytes both ways at the pace of the slower end until both are done; a failure of one ends both. */
export function join(one: Socket, other: Socket): void {
  // Failures need no word to anyone: the other side sees its connection end.
  const over = (error?: Error | null): void => {
    if (!error) return;
    one.destroy();
    other.destroy();
  };
  pipeline(one, other, over);
  pipeline(other, one, over);
}
