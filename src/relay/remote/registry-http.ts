import { createRequire } from 'node:module';
import type { SecureContext } from 'node:tls';
import type { Dispatcher, RequestInit, Response } from 'undici';
import type { Outgoing } from '../../host/http/index.ts';

const load = createRequire(import.meta.url);

interface Dispatchers {
  readonly roots: SecureContext | undefined;
  readonly proxies: string;
  readonly dispatcher: Dispatcher;
}

/** Requests to a registry or for a token. They share connections as long as roots and proxies stay the same. */
export class RegistryHttp {
  readonly #outgoing: Outgoing;
  #current: Dispatchers | undefined;

  constructor(outgoing: Outgoing) {
    this.#outgoing = outgoing;
  }

  /** Throws a `CertificateFileError` as it is. */
  async fetch(url: URL | string, init: RequestInit): Promise<Response> {
    const { roots } = this.#outgoing;
    roots.check();
    const { fetch } = load('undici') as typeof import('undici');
    const isSecure = new URL(url).protocol === 'https:';
    return await fetch(url, { ...init, dispatcher: this.#dispatcher(isSecure ? roots.context : undefined) });
  }

  #dispatcher(roots: SecureContext | undefined): Dispatcher {
    const env = this.#outgoing.environment;
    const everything = env.all_proxy || env.ALL_PROXY || '';
    const options = {
      httpProxy: env.http_proxy || env.HTTP_PROXY || everything,
      httpsProxy: env.https_proxy || env.HTTPS_PROXY || everything,
      noProxy: env.no_proxy || env.NO_PROXY || '',
    };
    const proxies = JSON.stringify(options);
    const current = this.#current;
    if (current?.roots === roots && current?.proxies === proxies) return current.dispatcher;
    void current?.dispatcher.close();
    const { EnvHttpProxyAgent } = load('undici') as typeof import('undici');
    const tls = roots && { secureContext: roots };
    const trust = tls && { connect: tls, requestTls: tls, proxyTls: tls };
    const dispatcher = new EnvHttpProxyAgent({ ...options, proxyTunnel: false, ...trust });
    this.#current = { roots, proxies, dispatcher };
    return dispatcher;
  }
}
