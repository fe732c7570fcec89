import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { NetworkNamespace } from '../os/index.ts';
import { endpointsOf } from './destination.ts';
import { ForwardRules, isForwardEntry } from './forward-rules.ts';
import type { PortNetwork } from './networks.ts';

const own: PortNetwork = { namespace: undefined, isOwn: async () => false };
const apart: PortNetwork = { namespace: {} as NetworkNamespace, isOwn: async () => false };
const never = new AbortController().signal;

/** Where a connection leads, with the rules and the addresses of every name given. */
async function reached(
  host: string,
  { listed = [] as string[], addresses = [] as string[], network = own } = {},
): Promise<string[] | string> {
  try {
    const asked = { host, port: 80 };
    const endpoints = await endpointsOf(asked, network, new ForwardRules(listed), never, async () => addresses);
    return endpoints.map(({ address }) => address.join('.'));
  } catch (error) {
    return (error as Error).message;
  }
}

describe('what a connection may lead to', () => {
  it.each([
    ['localhost', ['127.0.0.1', '0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1']],
    ['LOCALHOST.', ['127.0.0.1', '0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1']],
    ['127.8.9.10', ['127.8.9.10']],
    ['::1', ['0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1']],
    ['[0:0::1]', ['0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1']],
    ['::ffff:127.0.0.1', ['127.0.0.1']],
    ['::ffff:7f00:1', ['127.0.0.1']],
  ])('is loopback, as %s', async (host, addresses) => {
    expect(await reached(host)).toEqual(addresses);
    expect(await reached(host, { network: apart })).toEqual(addresses);
  });

  it('is a listed address in any spelling, and a listed name by all its addresses', async () => {
    expect(await reached('192.0.2.1', { listed: ['[::ffff:192.0.2.1]:80'] })).toEqual(['192.0.2.1']);
    expect(await reached('Db.Internal', { listed: ['db.internal:80'], addresses: ['10.1.2.3', '::1'] })).toEqual([
      '10.1.2.3',
      '0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1',
    ]);
  });

  it.each([
    '169.254.169.254',
    '::ffff:169.254.169.254',
    '::a9fe:a9fe',
    '64:ff9b::169.254.169.254',
    '2002:a9fe:a9fe::',
    'fe80::1',
    'fe80::1%eth0',
    'fd00:ec2::254',
    'fd20:ce::254',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    '0.0.0.0',
    '::',
    '224.0.0.1',
    'ff02::1',
    '255.255.255.255',
  ])('is not what a listed name leads to, if that is %s', async (address) => {
    expect(await reached('a.test', { listed: ['a.test:80'], addresses: ['10.0.0.1', address] })).toMatch(
      /^host a\.test port 80 may not be reached: it leads to .*, which may be reached only if allow_forward lists that address itself$/,
    );
  });

  it('is such an address where it is listed itself', async () => {
    const listed = ['a.test:80', '169.254.169.254:80'];
    expect(await reached('169.254.169.254', { listed })).toEqual(['169.254.169.254']);
    expect(await reached('a.test', { listed, addresses: ['169.254.169.254'] })).toEqual(['169.254.169.254']);
  });

  it('is only its own loopback in a network apart, whatever is listed', async () => {
    expect(await reached('10.0.0.1', { listed: ['10.0.0.1:80'], network: apart })).toBe(
      'host 10.0.0.1 port 80 may not be reached: this network reaches only its own loopback',
    );
  });

  it.each(['127.1', '0x7f.1', '2130706433', '017700000001', '1.2.3.4.5', 'a..b', '', '-a', 'a/b', 'x'.repeat(254)])(
    'is not %s, which resolvers read in different ways',
    async (host) => {
      expect(await reached(host)).toMatch(/^host is not a name or an address: /);
    },
  );
});

it('is given up for a name that is not resolved in time', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const failed = vi.fn();
  const asked = { host: 'a.test', port: 80 };
  endpointsOf(asked, own, new ForwardRules(['a.test:80']), never, () => new Promise(() => {})).catch(failed);

  await vi.advanceTimersByTimeAsync(5000); // by a timer of its own: those of signals may be collected as garbage

  expect(failed.mock.calls).toMatchObject([
    [{ message: 'cannot connect to a.test port 80: it was not resolved within 5 s' }],
  ]);
});

describe('an entry of allow_forward', () => {
  it.each(['db.internal:5432', '10.0.0.1:1', '[::1]:65535', 'unix:/run/x.sock'])('may be %s', (entry) => {
    expect(isForwardEntry(entry)).toBe(true);
  });

  it.each(['db.internal', 'db:0', 'db:65536', '::1:80', 'unix:x', 'unix:/', 'unix:/run/', '*:80', 'http://a:80', ''])(
    'is not %s',
    (entry) => {
      expect(isForwardEntry(entry)).toBe(false);
    },
  );
});
