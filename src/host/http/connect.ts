import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';

/** Asks the HTTP proxy at the other end of a connection for a tunnel: resolves once the connection leads to `authority`. */
export async function openTunnel(
  socket: Socket,
  authority: string,
  authorization: string | undefined,
  signal: AbortSignal,
): Promise<Socket> {
  const call = request({
    createConnection: () => socket,
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...(authorization && { 'proxy-authorization': authorization }) },
  });
  call.end();
  try {
    const [{ statusCode = 0 }, , head] = (await once(call, 'connect', { signal })) as [IncomingMessage, Socket, Buffer];
    if (statusCode < 200 || statusCode > 299) throw new Error(`the proxy answered ${statusCode} to CONNECT`);
    if (head.length > 0) socket.unshift(head);
    return socket;
  } catch (error) {
    call.on('error', () => {}); // the thrown error is enough
    socket.destroy();
    throw error;
  }
}

/** The value of `Proxy-Authorization` for a proxy, if its address has credentials. */
export function proxyAuthorization({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined;
  const credentials = [username, password].map(percentDecoded).join(':');
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a percent sign that escapes nothing
  }
}
