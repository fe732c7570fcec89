import { once } from 'node:events';
import { isIP, type Socket } from 'node:net';
import { connect as secure } from 'node:tls';
import { Deadline } from '../../base/index.ts';
import { type Environment, openTunnel, proxyAuthorization, type TrustedRoots } from '../http/index.ts';
import { isWeb } from './http-message.ts';
import { connectTo } from './outbound.ts';

/** A proxy between this machine and the rest of the network. */
export interface UpstreamProxy {
  readonly host: string;
  readonly port: number;
  /** Whether connections to the proxy use TLS. */
  readonly tls: boolean;
  /** The value of `Proxy-Authorization`, if its address has credentials. */
  readonly authorization: string | undefined;
}

const plainVariables = ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'];
const secureVariables = ['HTTPS_PROXY', 'https_proxy', ...plainVariables];

/** The HTTP proxy that the first of the variables for a protocol names; `NO_PROXY` is ignored, as in the reference. */
export function upstreamProxyFor(protocol: 'http' | 'https', env: Environment): UpstreamProxy | undefined {
  for (const name of protocol === 'https' ? secureVariables : plainVariables) {
    const proxy = parseProxy((env[name] ?? '').trim());
    if (proxy) return proxy;
  }
  return undefined;
}

function parseProxy(text: string): UpstreamProxy | undefined {
  const address = text.includes('://') ? text : `http://${text}`;
  if (text === '' || !URL.canParse(address)) return undefined;
  const url = new URL(address);
  const { protocol, hostname, port } = url;
  if (!isWeb(url) || hostname === '') return undefined;
  const tls = protocol === 'https:';
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port) || (tls ? 443 : 80),
    tls,
    authorization: proxyAuthorization(url),
  };
}

/** The time limit for opening a tunnel. */
const TUNNEL_MS = 30_000;

/** A proxy and its addresses. */
export interface ResolvedProxy extends UpstreamProxy {
  readonly addresses: readonly string[];
  /** The roots that the proxy's own certificate is checked against. */
  readonly roots: TrustedRoots;
}

/** A connection to the proxy itself, for plain requests. */
export async function connectToProxy(proxy: ResolvedProxy, signal: AbortSignal): Promise<Socket> {
  const socket = await connectTo(proxy.addresses, proxy.port, signal);
  if (!proxy.tls) return socket;
  const wrapped = secure({ socket, ...serverName(proxy.host), secureContext: proxy.roots.context });
  wrapped.on('error', () => wrapped.destroy());
  try {
    await once(wrapped, 'secureConnect', { signal });
    return wrapped;
  } catch (error) {
    wrapped.destroy();
    throw error;
  }
}

/** The name that a certificate must be for; a server without a name is checked by its address. */
export function serverName(host: string): { servername?: string; host?: string } {
  return isIP(host) === 0 ? { servername: host } : { host };
}

/** A connection to a host and port through the proxy. */
export async function tunnelThrough(
  proxy: ResolvedProxy,
  { host, port }: { readonly host: string; readonly port: number },
  signal: AbortSignal,
): Promise<Socket> {
  using deadline = new Deadline(TUNNEL_MS, signal);
  const socket = await connectToProxy(proxy, deadline.signal);
  const authority = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  return await openTunnel(socket, authority, proxy.authorization, deadline.signal);
}
