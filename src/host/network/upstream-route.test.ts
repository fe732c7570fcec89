import { describe, expect, it } from 'vitest';
import { Outgoing } from '../http/index.ts';
import { UpstreamRoute } from './upstream-route.ts';

const env = { HTTP_PROXY: 'http://127.0.0.1:3128' };
const privateAddresses = ['10.1.2.3', '172.16.0.1', '192.168.3.4', '100.64.0.1', 'fd12::1', '::ffff:10.0.0.1'];

const usesProxy = (host: string, options: { flag: boolean; env?: Record<string, string> }): boolean =>
  new UpstreamRoute({ outgoing: new Outgoing(options.env ?? env), privateAddresses: options.flag }).proxyTo(
    host,
    [host],
    'http',
  ) !== undefined;

describe('the way to a private address', () => {
  it.each(privateAddresses)('is direct to %s without the flag, and through the proxy with it', (host) => {
    expect([usesProxy(host, { flag: false }), usesProxy(host, { flag: true })]).toEqual([false, true]);
  });

  it.each([
    ['no proxy is named', {}],
    ['the proxy is not one for HTTP', { HTTP_PROXY: 'socks5://127.0.0.1:1', ALL_PROXY: ' ' }],
    ['the proxy is for another protocol', { HTTPS_PROXY: 'http://127.0.0.1:3128' }],
  ])('is direct if %s', (_, variables: Record<string, string>) => {
    expect(usesProxy('10.1.2.3', { flag: true, env: variables })).toBe(false);
  });

  it.each(['127.0.0.1', '::1', '169.254.1.1'])('is always direct to %s', (host) => {
    expect(usesProxy(host, { flag: true })).toBe(false);
  });
});
