import { createRequire } from 'node:module';
import type { SecureContext } from 'node:tls';
import type { Dispatcher, RequestInit, Response } from 'undici';
import { checkCertificateFile, trustedRoots } from '../../host/http/index.ts';

const load = createRequire(import.meta.url);

/**
 * A request to a registry or for a token, which trusts the roots of this machine and goes through the proxies that its
 * environment names. Throws a `CertificateFileError` as it is.
 */
export async function registryFetch(url: URL | string, init: RequestInit): Promise<Response> {
  checkCertificateFile();
  const { fetch } = load('undici') as typeof import('undici');
  const isSecure = new URL(url).protocol === 'https:';
  return await fetch(url, { ...init, dispatcher: dispatcherFor(isSecure ? trustedRoots() : undefined) });
}

interface Dispatchers {
  readonly roots: SecureContext | undefined;
  readonly proxies: string;
  readonly dispatcher: Dispatcher;
}

let current: Dispatchers | undefined;

function dispatcherFor(roots: SecureContext | undefined): Dispatcher {
  const { env } = process;
  const everything = env.all_proxy || env.ALL_PROXY || '';
  const options = {
    httpProxy: env.http_proxy || env.HTTP_PROXY || everything,
    httpsProxy: env.https_proxy || env.HTTPS_PROXY || everything,
    noProxy: env.no_proxy || env.NO_PROXY || '',
  };
  const proxies = JSON.stringify(options);
  if (current?.roots === roots && current?.proxies === proxies) return current.dispatcher;
  void current?.dispatcher.close();
  const { EnvHttpProxyAgent } = load('undici') as typeof import('undici');
  const tls = roots && { secureContext: roots };
  const trust = tls && { connect: tls, requestTls: tls, proxyTls: tls };
  const dispatcher = new EnvHttpProxyAgent({ ...options, proxyTunnel: false, ...trust });
  current = { roots, proxies, dispatcher };
  return dispatcher;
}
