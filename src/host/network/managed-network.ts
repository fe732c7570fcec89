import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { ExecError, type NetworkProxy } from '../../protocol/index.ts';
import { announceListener, leadsToOwnListener } from '../peers/index.ts';
import { type ClientDecision, Gate, type NetworkDecision, type WantedConnection } from './gate.ts';
import { createHttpProxy } from './http-proxy.ts';
import { resolveHost } from './outbound.ts';
import { NetworkPolicy } from './policy.ts';
import { proxyEnvironment } from './proxy-environment.ts';
import { createSocksProxy } from './socks-proxy.ts';
import { UpstreamRoute, type UpstreamRouteOptions } from './upstream-route.ts';

export interface ManagedNetworkOptions {
  readonly settings: NetworkProxy;
  /** Asks the client about a host; called only if the settings have a time limit for the answer. */
  readonly ask: (wanted: WantedConnection, signal: AbortSignal) => Promise<ClientDecision>;
  readonly report: (wanted: WantedConnection, decision: NetworkDecision) => void;
  /** The upstream proxies of this server, for processes whose settings allow them. */
  readonly upstream?: UpstreamRouteOptions;
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

/** The proxies of one process, on loopback ports of their own. */
export class ManagedNetwork implements AsyncDisposable {
  /** The variables by which the process finds the proxies. */
  readonly environment: Readonly<Record<string, string>>;
  readonly #servers: readonly Server[];
  readonly #sockets: ReadonlySet<Socket>;
  readonly #announced: readonly Disposable[];

  private constructor(servers: readonly Server[], sockets: ReadonlySet<Socket>, allowLocalBinding: boolean) {
    this.#servers = servers;
    this.#sockets = sockets;
    const ports = servers.map((server) => (server.address() as AddressInfo).port);
    const [http, socks] = ports;
    this.#announced = ports.map((port) => announceListener('proxy', port));
    this.environment = proxyEnvironment({ http: http!, socks }, allowLocalBinding);
  }

  /** Throws the error for invalid settings before it starts a proxy. */
  static async start(options: ManagedNetworkOptions): Promise<ManagedNetwork> {
    const { settings, ask, report, upstream, resolve = resolveHost } = options;
    const { proxy, policyDecisionTimeoutMs } = settings;
    checkSupported(proxy);
    const policy = new NetworkPolicy(proxy);
    const isOwn = (addresses: readonly string[], port: number) =>
      leadsToOwnListener(addresses, port, ['work', 'proxy']);
    const gate = new Gate({
      policy,
      resolve,
      report,
      isOwn,
      ...(policyDecisionTimeoutMs != null && { ask }),
      ...(proxy.allowUpstreamProxy && upstream && { route: new UpstreamRoute(upstream) }),
    });
    const servers: Server[] = [createHttpProxy(gate)];
    if (proxy.enableSocks5) servers.push(createSocksProxy(gate));
    const sockets = new Set<Socket>();
    for (const server of servers) {
      server.on('connection', (socket: Socket) => {
        sockets.add(socket);
        socket.once('close', () => sockets.delete(socket));
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
    }
    return new ManagedNetwork(servers, sockets, proxy.allowLocalBinding);
  }

  /** Closes the proxies and every connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of this.#announced) each[Symbol.dispose]();
    const closed = this.#servers.map((server) => new Promise((resolve) => server.close(resolve)));
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(closed);
  }
}

function checkSupported(proxy: NetworkProxy['proxy']): void {
  const refuse = (reason: string) => new ExecError('invalidParams', `invalid network proxy config: ${reason}`);
  if (!proxy.enabled) throw refuse('executor-local network proxy launch requires an enabled proxy');
  if (proxy.credentialMasking || Object.keys(proxy.credentialProviders ?? {}).length > 0) {
    throw refuse('this executor does not mask credentials');
  }
}
