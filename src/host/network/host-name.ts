import { isIP, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';
import { isNonPublic } from './address.ts';

/** The longest name in the domain name system. */
const LONGEST_NAME = 253;

/** A host as policies compare it: lower case, without brackets, port and final dots. Undefined for text that is not a host. */
export function normalizeHost(text: string): string | undefined {
  const bare = withoutPort(text.trim().toLowerCase()).replace(/\.+$/, '');
  const host = /[^\x00-\x7f]/.test(bare) ? domainToASCII(bare) : bare;
  if (host === '' || host.length > LONGEST_NAME || !NAME.test(host)) return undefined;
  return isIPv6(host) ? new URL(`http://[${host.split('%', 1)[0]}]`).hostname.slice(1, -1) : host;
}

const NAME = /^[a-z0-9._:%*?_-]+$/;

function withoutPort(text: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d*)?$/.exec(text);
  if (bracketed) return bracketed[1]!;
  return /^[^:]*:\d*$/.test(text) ? text.slice(0, text.indexOf(':')) : text;
}

/** Whether the name itself, without a lookup, means a host that is not public. */
export function isLocalName(host: string): boolean {
  return isLoopbackName(host) || (isIP(host) !== 0 && isNonPublic(host));
}

export function isLoopbackName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}
