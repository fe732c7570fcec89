import { isIP, isIPv4 } from 'node:net';
import { addressBytes } from '../peers/index.ts';

/** The one spelling of a host: an address in its canonical form, IPv4 also where it is written as IPv6, or a name in lower case. */
export function canonicalHost(text: string): string | undefined {
  const bare = /^\[(.*)\]$/.exec(text)?.[1] ?? text;
  if (isIP(bare) === 0) {
    const name = bare.toLowerCase().replace(/\.$/, '');
    return NAME.test(name) && !DECIMAL.test(name) ? name : undefined;
  }
  if (bare.includes('%')) return undefined; // a zone names an interface, which only link-local addresses need
  if (isIPv4(bare)) return bare;
  const address = new URL(`http://[${bare}]`).hostname.slice(1, -1);
  const bytes = addressBytes(address)!;
  return bytes.length === 4 ? bytes.join('.') : address;
}

/** A name of the domain name system, or of the hosts file. */
const NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/;
/** Resolvers read `127.1`, `2130706433` and `0x7f.1` as addresses. */
const DECIMAL = /(^|\.)(\d+|0x[0-9a-f]*)$/;
