import { Failure } from '../language/value.ts';
import type { Decision } from './prefix-rule.ts';

export type NetworkProtocol = 'http' | 'https' | 'socks5_tcp' | 'socks5_udp';

export interface NetworkRule {
  readonly host: string;
  readonly protocol: NetworkProtocol;
  readonly decision: Decision;
  readonly justification?: string;
}

const PROTOCOLS: Readonly<Record<string, NetworkProtocol>> = {
  http: 'http',
  https: 'https',
  https_connect: 'https',
  'http-connect': 'https',
  socks5_tcp: 'socks5_tcp',
  socks5_udp: 'socks5_udp',
};

export function parseProtocol(text: string): NetworkProtocol {
  if (Object.hasOwn(PROTOCOLS, text)) return PROTOCOLS[text]!;
  throw new Failure(
    `invalid rule: network_rule protocol must be one of http, https, socks5_tcp, socks5_udp (got ${text})`,
  );
}

/** The host as requests name it: without port and final dots, in lower case. */
export function parseHost(text: string): string {
  let host = text.trim();
  if (host === '') throw refused('cannot be empty');
  if (/[/?#]|:\/\//.test(host)) throw refused('must be a hostname or IP literal (without scheme or path)');
  if (host.startsWith('[')) {
    const end = host.indexOf(']');
    if (end < 0) throw refused('has an invalid bracketed IPv6 literal');
    if (!/^(?::\d+)?$/.test(host.slice(end + 1))) throw refused(`contains an unsupported suffix: ${host}`);
    host = host.slice(1, end);
  } else {
    host = /^([^:]+):\d+$/.exec(host)?.[1] ?? host;
  }
  host = host.replace(/\.+$/, '').trim().toLowerCase();
  if (host === '') throw refused('cannot be empty');
  if (host.includes('*')) throw refused('must be a specific host; wildcards are not allowed');
  if (/\s/.test(host)) throw refused('cannot contain whitespace');
  return host;
}

/** The hosts to let through and to block: the last rule for a host counts, and one that asks decides nothing. */
export function compileHosts(rules: readonly NetworkRule[]): { allowed: string[]; denied: string[] } {
  const latest = new Map<string, Decision>();
  for (const { host, decision } of rules) {
    if (decision === 'prompt') continue;
    latest.delete(host);
    latest.set(host, decision);
  }
  const having = (wanted: Decision): string[] =>
    [...latest].flatMap(([host, decision]) => (decision === wanted ? [host] : []));
  return { allowed: having('allow'), denied: having('forbidden') };
}

function refused(reason: string): Failure {
  return new Failure(`invalid rule: network_rule host ${reason}`);
}
