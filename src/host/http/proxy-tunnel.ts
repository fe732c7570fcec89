import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { openTunnel, proxyAuthorization } from './connect.ts';
import type { Environment } from './environment.ts';
import type { TrustedRoots } from './trusted-roots.ts';

/** The HTTP proxy that the environment names for a `ws:` or `wss:` address. SOCKS proxies are not supported. */
export function environmentProxy(address: URL, env: Environment): URL | undefined {
  const [own, OWN] = address.protocol === 'wss:' ? ['https_proxy', 'HTTPS_PROXY'] : ['http_proxy', 'HTTP_PROXY'];
  const named = env[own] || env[OWN] || env.all_proxy || env.ALL_PROXY || '';
  const text = named.includes('://') ? named : `http://${named}`;
  if (named === '' || !URL.canParse(text) || isExcepted(address, env.no_proxy || env.NO_PROXY || '')) return undefined;
  const proxy = new URL(text);
  return /^https?:$/.test(proxy.protocol) ? proxy : undefined;
}

/** Whether a list of hosts and domains, some with a port, contains the host of an address. */
function isExcepted({ hostname, port, protocol }: URL, list: string): boolean {
  const to = port || (protocol === 'wss:' ? '443' : '80');
  const host = unbracketed(hostname);
  return list.split(/[\s,]+/).some((entry) => {
    if (entry === '*') return true;
    const bare = isIP(entry) === 6 ? `[${entry}]` : entry.toLowerCase();
    const [, name = '', only] = /^(?:\*?\.)?(.*?)(?::(\d+))?$/.exec(bare)!;
    return name !== '' && (only ?? to) === to && (host === unbracketed(name) || host.endsWith(`.${name}`));
  });
}

const unbracketed = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

/** A connection to the host of an address, through a proxy. */
export async function tunnelTo(address: URL, proxy: URL, roots: TrustedRoots, signal: AbortSignal): Promise<Socket> {
  const socket = await connectToProxy(proxy, roots, signal);
  const authority = `${address.hostname}:${address.port || (address.protocol === 'wss:' ? 443 : 80)}`;
  return await openTunnel(socket, authority, proxyAuthorization(proxy), signal);
}

async function connectToProxy(
  { protocol, hostname, port }: URL,
  roots: TrustedRoots,
  signal: AbortSignal,
): Promise<Socket> {
  const host = unbracketed(hostname);
  const secure = protocol === 'https:';
  const to = { host, port: Number(port) || (secure ? 443 : 80) };
  const { connect: connectSecurely } = process.getBuiltinModule('node:tls');
  const name = isIP(host) === 0 ? { servername: host } : {};
  const socket = secure ? connectSecurely({ ...to, ...name, secureContext: roots.context }) : connect(to);
  socket.on('error', () => socket.destroy());
  try {
    await once(socket, secure ? 'secureConnect' : 'connect', { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}
