import { describe, expect, it } from 'vitest';
import { isLoopbackAddress, isNonPublic } from './address.ts';

describe('an address', () => {
  it('is not public in every range set aside for something else, and public right beside it', () => {
    const edges = [
      ['0.0.0.0', '0.255.255.255', '1.0.0.0'],
      ['10.0.0.0', '10.255.255.255', '11.0.0.0'],
      ['100.64.0.0', '100.127.255.255', '100.128.0.0'],
      ['127.0.0.0', '127.255.255.255', '128.0.0.0'],
      ['169.254.0.0', '169.254.255.255', '169.255.0.0'],
      ['172.16.0.0', '172.31.255.255', '172.32.0.0'],
      ['192.0.0.0', '192.0.0.255', '192.0.1.0'],
      ['192.0.2.0', '192.0.2.255', '192.0.3.0'],
      ['192.168.0.0', '192.168.255.255', '192.169.0.0'],
      ['198.18.0.0', '198.19.255.255', '198.20.0.0'],
      ['198.51.100.0', '198.51.100.255', '198.51.101.0'],
      ['203.0.113.0', '203.0.113.255', '203.0.114.0'],
      ['fc00::', 'fdff:ffff::', 'fbff::'],
      ['fe80::', 'febf:ffff::', 'fe7f::'],
    ];

    expect(edges.map((addresses) => addresses.map(isNonPublic))).toEqual(edges.map(() => [true, true, false]));
    expect(
      ['224.0.0.1', '240.0.0.1', '255.255.255.255', '::', '::1', 'ff02::1', 'fe80::1%eth0'].every(isNonPublic),
    ).toBe(true);
    expect(['8.8.8.8', '2606:4700::1111'].some(isNonPublic)).toBe(false);
  });

  it('is judged by the IPv4 address it carries', () => {
    const carrying = (v4: string, hex: string) => [`::ffff:${v4}`, `::${v4}`, `64:ff9b::${v4}`, `2002:${hex}::1`];

    expect(carrying('127.0.0.1', '7f00:1').map(isNonPublic)).toEqual([true, true, true, true]);
    expect(carrying('8.8.8.8', '808:808').map(isNonPublic)).toEqual([false, false, false, false]);
  });

  it('is loopback in 127/8 and ::1 only', () => {
    expect(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'].every(isLoopbackAddress)).toBe(true);
    expect(['10.0.0.1', '::', 'fe80::1', '8.8.8.8'].some(isLoopbackAddress)).toBe(false);
  });
});
