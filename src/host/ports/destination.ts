import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { abortable, Deadline } from '../../base/index.ts';
import { ExecError } from '../../protocol/index.ts';
import { addressBytes } from '../peers/index.ts';
import type { ForwardRules } from './forward-rules.ts';
import { canonicalHost } from './host-text.ts';
import { portLimits } from './limits.ts';
import type { PortNetwork } from './networks.ts';
import { isGuarded, isLoopback } from './special-addresses.ts';

export interface Endpoint {
  readonly address: Uint8Array;
  readonly port: number;
}

/** All addresses of a name. */
export type Resolve = (name: string) => Promise<readonly string[]>;

/** The addresses that a host and port may be reached at, in the order in which they are tried; throws if it may not be. */
export async function endpointsOf(
  asked: { readonly host: string; readonly port: number },
  network: PortNetwork,
  rules: ForwardRules,
  signal: AbortSignal,
  resolve: Resolve = systemResolver,
): Promise<readonly Endpoint[]> {
  const { port } = asked;
  const host = canonicalHost(asked.host);
  if (host === undefined)
    throw new ExecError('invalidParams', `host is not a name or an address: ${printable(asked.host)}`);
  const addresses = host === 'localhost' ? LOCALHOST : isIP(host) ? [host] : undefined;
  if (!addresses?.every(isLoopback)) {
    if (network.namespace) throw refused(host, port, 'this network reaches only its own loopback');
    if (!rules.listsHost(host, port)) throw refused(host, port, unlisted(host, port));
  }
  const reached = addresses ?? (await addressesOf(host, port, signal, resolve));
  const guarded = reached.find((address) => isGuarded(address) && !rules.listsHost(address, port));
  if (guarded !== undefined) {
    throw refused(
      host,
      port,
      `it leads to ${guarded}, which may be reached only if allow_forward lists that address itself`,
    );
  }
  if (await network.isOwn(reached, port)) throw refused(host, port, 'a listener of exec-server is there');
  return reached.map((address) => ({ address: addressBytes(address)!, port }));
}

/** Not looked up: a hosts file could say something else. */
const LOCALHOST = ['127.0.0.1', '::1'];

/** In place of an address with a zone, which is link-local: refused as well. */
const UNSPECIFIED = '0.0.0.0';

async function systemResolver(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true, verbatim: true })).map(({ address }) => address);
}

async function addressesOf(
  name: string,
  port: number,
  signal: AbortSignal,
  resolve: Resolve,
): Promise<readonly string[]> {
  using stop = new Deadline(portLimits.resolveMs, signal);
  try {
    const found = await abortable(resolve(name), stop.signal);
    return found.slice(0, portLimits.addresses).map((address) => canonicalHost(address) ?? UNSPECIFIED);
  } catch (cause) {
    signal.throwIfAborted();
    const why = stop.expired
      ? `it was not resolved within ${portLimits.resolveMs / 1000} s`
      : 'its name cannot be resolved';
    throw new ExecError('invalidRequest', `cannot connect to ${name} port ${port}: ${why}`, { cause });
  }
}

function unlisted(host: string, port: number): string {
  const entry = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return `only loopback and what allow_forward lists may be reached; to allow it, add '${entry}' to the setting allow_forward of the server`;
}

/** No part of the machine's configuration is in it, only what the caller asked for. */
function refused(host: string, port: number, why: string): ExecError {
  return new ExecError('invalidRequest', `host ${host} port ${port} may not be reached: ${why}`);
}

const printable = (text: string): string => JSON.stringify(text.slice(0, 253));
