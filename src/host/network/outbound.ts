import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { pipeline } from 'node:stream';

/** All addresses of a host; none for an unknown host. */
export async function resolveHost(host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  } catch {
    return []; // the policy refuses a host without addresses, whether its name is unknown or the name server did not answer
  }
}

/** The time limit for connecting to one address. */
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

/** Pipes bytes both ways, with back-pressure, until both sides have ended; a failure of one closes both. */
export function pipeBothWays(one: Socket, other: Socket): void {
  // A failure is not reported: the other side sees its connection close.
  const done = (error?: Error | null): void => {
    if (!error) return;
    one.destroy();
    other.destroy();
  };
  pipeline(one, other, done);
  pipeline(other, one, done);
}
