import { isIP } from 'node:net';
import type { Outgoing, TrustedRoots } from '../http/index.ts';
import { isLoopbackAddress, isNonPublic, isPrivate } from './address.ts';
import { isLoopbackName } from './host.ts';
import { type UpstreamProxy, upstreamProxyFor } from './upstream-proxy.ts';

export interface UpstreamRouteOptions {
  /** Names the proxies. */
  readonly outgoing: Outgoing;
  /** Whether the proxy is used for private addresses as well. */
  readonly privateAddresses: boolean;
}

/** Which connections leave through the upstream proxy that the environment names. It decides the way, not the right to go. */
export class UpstreamRoute {
  readonly #options: UpstreamRouteOptions;

  constructor(options: UpstreamRouteOptions) {
    this.#options = options;
  }

  /** The proxy on the way to a host with these addresses; none where the way is direct. */
  proxyTo(host: string, addresses: readonly string[], protocol: 'http' | 'https'): UpstreamProxy | undefined {
    const { environment } = this.#options.outgoing;
    return this.#leaves(host, addresses) ? upstreamProxyFor(protocol, environment) : undefined;
  }

  /** What the certificates of the proxies are checked against. */
  get roots(): TrustedRoots {
    return this.#options.outgoing.roots;
  }

  #leaves(host: string, addresses: readonly string[]): boolean {
    if (isIP(host) === 0) return !isLoopbackName(host) && !addresses.some(isLoopbackAddress);
    return !isNonPublic(host) || (this.#options.privateAddresses && isPrivate(host));
  }
}
