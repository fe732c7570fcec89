import type { Params } from '../../protocol/index.ts';
import type { NetworkNamespace } from '../os/index.ts';
import { leadsToOwnListener } from '../peers/index.ts';

/** The networks of a session. */
export interface SessionNetworks {
  /** The one that its commands share, if one of them has asked for it. */
  readonly shared: NetworkNamespace | undefined;
  /** That of a process of the session; undefined if it is that of this program. Rejects for another process. */
  ofProcess(processId: string): Promise<ProcessNetwork | undefined>;
}

interface ProcessNetwork {
  readonly namespace: NetworkNamespace;
  /** Where proxies of this product listen inside. */
  readonly proxyPorts: readonly number[];
}

/** A network that connections are made in. */
export interface PortNetwork {
  /** One that reaches nothing but its own loopback; undefined is the network of this process. */
  readonly namespace: NetworkNamespace | undefined;
  /** Whether these addresses and port lead to a listener of this product. */
  isOwn(addresses: readonly string[], port: number): Promise<boolean>;
}

/** The network that a request is about: of its process, else the one that the session shares, else that of this program. */
export async function networkOf(
  { processId }: Pick<Params<'net/open'>, 'processId'>,
  networks: SessionNetworks,
): Promise<PortNetwork> {
  if (processId == null) return networks.shared ? { namespace: networks.shared, isOwn: async () => false } : ownNetwork;
  const found = await networks.ofProcess(processId);
  if (!found) return ownNetwork;
  return { namespace: found.namespace, isOwn: async (_, port) => found.proxyPorts.includes(port) };
}

const ownNetwork: PortNetwork = {
  namespace: undefined,
  isOwn: (addresses, port) => leadsToOwnListener(addresses, port, ['work', 'proxy']),
};
