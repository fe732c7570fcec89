import type { Socket } from 'node:net';
import type { Environment } from './environment.ts';
import { environmentProxy, tunnelTo } from './proxy-tunnel.ts';
import { TrustedRoots } from './trusted-roots.ts';

/** How this program connects to other machines: through the proxies and with the certificates that environment variables name. */
export class Outgoing {
  /** Through no proxy, with the roots of Node and of the system. */
  static readonly direct = new Outgoing({});

  readonly environment: Environment;
  readonly roots: TrustedRoots;

  constructor(environment: Environment) {
    this.environment = environment;
    this.roots = new TrustedRoots(environment);
  }

  /** The HTTP proxy for a `ws:` or `wss:` address, if there is one. */
  proxyFor(address: URL): URL | undefined {
    return environmentProxy(address, this.environment);
  }

  /** A connection to the host of an address, through a proxy. */
  tunnelTo(address: URL, proxy: URL, signal: AbortSignal): Promise<Socket> {
    return tunnelTo(address, proxy, this.roots, signal);
  }
}
