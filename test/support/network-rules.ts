import type { NetworkProxyRules } from '../../src/protocol/index.ts';

/** The rules of a proxy for HTTP that allows no destination, unless the test says otherwise. */
export const networkRules = (change: Partial<NetworkProxyRules> = {}): NetworkProxyRules => ({
  enabled: true,
  enableSocks5: false,
  enableSocks5Udp: false,
  allowUpstreamProxy: false,
  dangerouslyAllowAllUnixSockets: false,
  mode: 'full',
  domains: {},
  allowLocalBinding: false,
  ...change,
});
