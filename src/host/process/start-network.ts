import { ExecError, type NetworkProxy, type Params } from '../../protocol/index.ts';
import type { AccessPolicy } from '../sandbox/index.ts';

type StartParams = Params<'process/start'>;

/**
 * Refuses a start whose `network` cannot hold. Without a sandbox nothing could enforce it. Other members that say what network the
 * command has are refused beside it, because they would say something else, or the same in other words.
 */
export function checkNetwork(params: StartParams): void {
  const { network, sandbox } = params;
  if (network == null) return;
  const other = (['networkProxy', 'managedNetwork', 'enforceManagedNetwork'] as const).find((name) => params[name]);
  if (other) throw refused(network, `cannot be sent with \`${other}\`: both say what network the command has`);
  if (!sandbox && network !== 'on') {
    throw refused(network, 'needs a sandbox: send `sandbox`, or leave `network` out');
  }
}

/** The policy with the network that the start asks for: the client chooses it beside the profile, whose own word then does not count. */
export function withNetwork(policy: AccessPolicy, network: StartParams['network']): AccessPolicy {
  return network == null ? policy : { ...policy, network: network === 'on' ? 'enabled' : 'restricted' };
}

/** The managed network of a start: as the client sends it, or the one for the hosts it names. */
export function managedNetworkOf({ networkProxy, network }: StartParams): NetworkProxy | undefined {
  if (networkProxy) return networkProxy;
  return typeof network === 'object' && network !== null ? proxyFor(network.allow) : undefined;
}

const proxyFor = (hosts: readonly string[]): NetworkProxy => ({
  proxy: {
    enabled: true,
    enableSocks5: true,
    enableSocks5Udp: false,
    allowUpstreamProxy: true,
    dangerouslyAllowAllUnixSockets: false,
    mode: 'full',
    domains: Object.fromEntries(hosts.map((host) => [host, 'allow'])),
    allowLocalBinding: false,
  },
});

function refused(network: NonNullable<StartParams['network']>, reason: string): ExecError {
  const word = typeof network === 'string' ? network : 'allow';
  return new ExecError('invalidParams', `network: ${word} ${reason}`);
}
