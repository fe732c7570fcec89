import { once } from 'node:events';
import { Socket } from 'node:net';
import type { NetworkNamespace } from '../../src/host/os/index.ts';

/** Connects to a server in another network. */
export async function connectIn(network: NetworkNamespace, host: '127.0.0.1' | '::1', port: number): Promise<Socket> {
  const fd = network.socket(host === '::1' ? 6 : 4);
  const socket = new Socket({ fd, readable: true, writable: true, allowHalfOpen: true });
  // For a name with several addresses Node would make sockets of its own, in the network of this program.
  socket.connect({ host, port, autoSelectFamily: false });
  await once(socket, 'connect');
  return socket;
}
