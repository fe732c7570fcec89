import { BlockList, isIPv4 } from 'node:net';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/**
 * Addresses that a name must not lead to: they reach the metadata services of clouds, which hand out credentials, neighbours on the
 * link, several machines at once, or this machine by another spelling.
 */
const guarded = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8], // Linux connects 0.0.0.0 to loopback
  ['169.254.0.0', 16],
  ['100.100.100.200', 32], // metadata of Alibaba Cloud
  ['168.63.129.16', 32], // of Azure
  ['192.0.0.192', 32], // of Oracle Cloud
  ['224.0.0.0', 4],
  ['255.255.255.255', 32],
] as const) {
  guarded.addSubnet(network, prefix, 'ipv4');
}
for (const [network, prefix] of [
  ['::', 96], // unspecified, and IPv4 in its obsolete spelling; ::1 is asked about before
  ['fe80::', 10],
  ['fd00:ec2::254', 128], // metadata of AWS
  ['fd20:ce::254', 128], // of Google Cloud
  ['64:ff9b::', 96], // IPv4 through a translator
  ['2002::', 16], // IPv4 through a relay
  ['ff00::', 8],
] as const) {
  guarded.addSubnet(network, prefix, 'ipv6');
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIPv4(address) ? 'ipv4' : 'ipv6');

/** Whether a canonical address is one of this machine that no other machine reaches. */
export function isLoopback(address: string): boolean {
  return loopback.check(address, familyOf(address));
}

/** Whether a canonical address may be connected to only if it is listed itself, not through a name. */
export function isGuarded(address: string): boolean {
  return !isLoopback(address) && guarded.check(address, familyOf(address));
}
