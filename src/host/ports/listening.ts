import type { Result } from '../../protocol/index.ts';
import { listeningHere } from '../os/index.ts';
import { canonicalHost } from './host-text.ts';
import { portLimits } from './limits.ts';
import type { PortNetwork } from './networks.ts';
import { isLoopback } from './special-addresses.ts';

/** A process of the session that holds a socket. */
export interface SocketHolder {
  readonly processId: string;
  readonly pid: number;
  /** The name of the program. */
  readonly program: string;
}

type OpenPort = Result<'net/ports'>['ports'][number];

/** The ports of a network that can be reached by its loopback, without those of this product. */
export async function listeningPorts(
  network: PortNetwork,
  holdersOf: (inodes: ReadonlySet<number>) => Promise<ReadonlyMap<number, SocketHolder>>,
): Promise<OpenPort[]> {
  const all = network.namespace ? network.namespace.listening() : await listeningHere();
  const reachable = all.flatMap(({ host, port, inode }) => {
    const address = canonicalHost(host)!;
    return isLoopback(address) || WILDCARDS.has(address) ? { host: address, port, inode } : [];
  });
  const foreign: typeof reachable = [];
  for (const each of reachable.slice(0, portLimits.listed)) {
    if (!(await network.isOwn(['127.0.0.1'], each.port))) foreign.push(each);
  }
  const holders = await holdersOf(new Set(foreign.map(({ inode }) => inode)));
  return foreign.map(({ host, port, inode }) => ({ host, port, ...holders.get(inode) }));
}

/** Accept connections at every address, loopback among them. */
const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);
