import { BlockList, isIPv4 } from 'node:net';

/** Addresses that are not on the public Internet. */
const nonPublic = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  nonPublic.addSubnet(network, prefix, 'ipv4');
}
for (const [network, prefix] of [
  ['::', 127], // unspecified and loopback
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const) {
  nonPublic.addSubnet(network, prefix, 'ipv6');
}

/** Networks of organisations: RFC 1918, carrier-grade NAT and unique local addresses. */
const privateNetworks = new BlockList();
for (const [network, prefix] of [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const) {
  privateNetworks.addSubnet(network, prefix, 'ipv4');
}
privateNetworks.addSubnet('fc00::', 7, 'ipv6');

export function isPrivate(address: string): boolean {
  const embedded = embeddedIPv4(address);
  if (embedded !== undefined) return privateNetworks.check(embedded, 'ipv4');
  return privateNetworks.check(withoutZone(address), 'ipv6');
}

export function isNonPublic(address: string): boolean {
  const embedded = embeddedIPv4(address);
  if (embedded !== undefined) return nonPublic.check(embedded, 'ipv4');
  return nonPublic.check(withoutZone(address), 'ipv6');
}

export function isLoopbackAddress(address: string): boolean {
  const embedded = embeddedIPv4(address);
  return embedded === undefined ? groups(address).join() === '0,0,0,0,0,0,0,1' : embedded.startsWith('127.');
}

/** The IPv4 address that an address is, or that an IPv6 address contains: packets may be delivered there. */
function embeddedIPv4(address: string): string | undefined {
  if (isIPv4(address)) return address;
  const all = groups(address);
  const startsWith = (...prefix: number[]) => prefix.every((group, at) => all[at] === group);
  if (startsWith(0, 0, 0, 0, 0, 0xffff)) return dotted(all[6]!, all[7]!); // mapped
  if (startsWith(0x64, 0xff9b, 0, 0, 0, 0)) return dotted(all[6]!, all[7]!); // NAT64
  if (startsWith(0x2002)) return dotted(all[1]!, all[2]!); // 6to4
  const compatible = startsWith(0, 0, 0, 0, 0, 0) && (all[6] !== 0 || all[7]! > 1);
  return compatible ? dotted(all[6]!, all[7]!) : undefined;
}

function dotted(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** The eight groups of an IPv6 address. */
function groups(address: string): number[] {
  const canonical = new URL(`http://[${withoutZone(address)}]`).hostname.slice(1, -1);
  const [head = '', tail = ''] = canonical.split('::');
  const numbers = (text: string) => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)));
  const [first, last] = [numbers(head), numbers(tail)];
  return [...first, ...new Array<number>(8 - first.length - last.length).fill(0), ...last];
}

function withoutZone(address: string): string {
  return address.split('%', 1)[0]!;
}
