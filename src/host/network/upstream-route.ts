import { isIP } from 'node:net';
import type { Outgoing, TrustedRoots } from '../http/index.ts';
import { isLoopbackAddress, isNonPublic, isPrivate } from './address.ts';
import { isLoopbackName } from './host-name.ts';
import { type UpstreamProxy, upstreamProxyFor } from './upstream-proxy.ts';

export interface UpstreamRouteOptions {
  /** Its environment names the proxies. */
  readonly outgoing: Outgoing;
  /** Whether the proxy is used for private addresses as well. */
  readonly privateAddresses: boolean;
}

/** Decides which admitted connections go through the upstream proxy that the environment names. */
export class UpstreamRoute {
  readonly #options: UpstreamRouteOptions;

  constructor(options: UpstreamRouteOptions) {
    this.#options = options;
  }

  /** The proxy for a host with these addresses; undefined for a direct connection. */
  proxyTo(host: string, addresses: readonly string[], protocol: 'http' | 'https'): UpstreamProxy | undefined {
    const { environment } = this.#options.outgoing;
    return this.#usesProxy(host, addresses) ? upstreamProxyFor(protocol, environment) : undefined;
  }

  /** The roots that the certificates of the proxies are checked against. */
  get roots(): TrustedRoots {
    return this.#options.outgoing.roots;
  }

  #usesProxy(host: string, addresses: readonly string[]): boolean {
    if (isIP(host) === 0) return !isLoopbackName(host) && !addresses.some(isLoopbackAddress);
    return !isNonPublic(host) || (this.#options.privateAddresses && isPrivate(host));
  }
}
