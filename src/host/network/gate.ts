import { isIP } from 'node:net';
import type { NetworkProtocol } from '../../protocol/index.ts';
import { normalizeHost } from './host-name.ts';
import type { NetworkPolicy } from './policy.ts';
import type { ResolvedProxy } from './upstream-proxy.ts';
import type { UpstreamRoute } from './upstream-route.ts';

/** One connection that a process asks a proxy for. */
export interface WantedConnection {
  readonly protocol: NetworkProtocol;
  readonly host: string;
  readonly port: number;
  readonly method?: string;
  /** The kind of upstream proxy that may carry it; absent for connections that are always direct. */
  readonly upstream?: 'http' | 'https';
  /** The address and port of the process. */
  readonly client: string;
}

export interface NetworkDecision {
  readonly decision: 'allow' | 'deny' | 'ask';
  readonly source: 'baseline_policy' | 'mode_guard' | 'decider';
  readonly reason: string;
  readonly policyOverride: boolean;
}

/** The way to the host of a connection, or the decision against it. */
export type Admission =
  | {
      readonly allowed: true;
      readonly host: string;
      readonly addresses: readonly string[];
      /** The upstream proxy to connect to instead of the addresses. */
      readonly proxy: ResolvedProxy | undefined;
    }
  | { readonly allowed: false; readonly host: string; readonly refusal: NetworkDecision };

/** The client's answer about a host that its lists do not decide. */
export type ClientDecision = { readonly type: 'allow' } | { readonly type: 'deny' | 'ask'; readonly reason: string };

export interface GateOptions {
  readonly policy: NetworkPolicy;
  /** All addresses of a name; none for an unknown name. */
  readonly resolve: (host: string) => Promise<readonly string[]>;
  /** Asks the client; absent if its settings leave no time for an answer. */
  readonly ask?: (wanted: WantedConnection, signal: AbortSignal) => Promise<ClientDecision>;
  readonly report: (wanted: WantedConnection, decision: NetworkDecision) => void;
  /** Absent where the process may not use upstream proxies. */
  readonly route?: UpstreamRoute;
  /** Whether an address and port lead to a listener of this product, through which a command could start processes. */
  readonly isOwn: (addresses: readonly string[], port: number) => Promise<boolean>;
}

/** Decides about every connection of one process, and reports the decisions to the client. */
export class Gate {
  readonly #options: GateOptions;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  async admit(asked: WantedConnection, signal: AbortSignal): Promise<Admission> {
    const host = normalizeHost(asked.host);
    if (host === undefined) return this.#refuse({ ...asked, host: printable(asked.host) }, baseline('not_allowed'));
    const wanted = { ...asked, host };
    const decision = await this.#decide(wanted, signal);
    if (decision.decision !== 'allow') return this.#refuse(wanted, decision);
    const addresses = await this.#options.resolve(host);
    if (!this.#options.policy.permits(host, addresses)) return this.#refuse(wanted, baseline('not_allowed_local'));
    const proxy = await this.#proxyTo(wanted, addresses);
    if (await this.#leadsToOwn(wanted, addresses, proxy)) {
      return this.#refuse(wanted, baseline('not_allowed_local'));
    }
    const { policy, report } = this.#options;
    const guard = policy.limited ? modeRefusal(wanted) : undefined;
    // A connection by SOCKS that the mode refuses is reported once, as refused.
    if (!guard || !wanted.protocol.startsWith('socks5')) report(wanted, decision);
    return guard ? this.#refuse(wanted, guard) : { allowed: true, host, addresses, proxy };
  }

  async #proxyTo(
    { host, upstream }: WantedConnection,
    addresses: readonly string[],
  ): Promise<ResolvedProxy | undefined> {
    const { route, resolve } = this.#options;
    const proxy = upstream && route?.proxyTo(host, addresses, upstream);
    return proxy && route && { ...proxy, addresses: await resolve(proxy.host), roots: route.roots };
  }

  /** An upstream proxy resolves the name again. If the proxy runs on this machine, the name may lead to any port of this machine. */
  async #leadsToOwn(
    { host, port }: WantedConnection,
    addresses: readonly string[],
    proxy?: ResolvedProxy,
  ): Promise<boolean> {
    const { isOwn } = this.#options;
    if (await isOwn(addresses, port)) return true;
    return proxy !== undefined && isIP(host) === 0 && (await isOwn(proxy.addresses, port));
  }

  async #decide(wanted: WantedConnection, signal: AbortSignal): Promise<NetworkDecision> {
    const { policy, ask } = this.#options;
    const reason = policy.baseline(wanted.host);
    if (reason !== 'not_allowed' || !ask) return baseline(reason);
    const answer = await ask(wanted, signal);
    if (answer.type !== 'allow') {
      const { type: decision, reason } = answer;
      return { decision, source: 'decider', reason, policyOverride: false };
    }
    return { decision: 'allow', source: 'decider', reason, policyOverride: true };
  }

  #refuse(wanted: WantedConnection, refusal: NetworkDecision): Admission {
    this.#options.report(wanted, refusal);
    return { allowed: false, host: wanted.host, refusal };
  }
}

function baseline(reason: string): NetworkDecision {
  const decision = reason === 'allow' ? 'allow' : 'deny';
  return { decision, source: 'baseline_policy', reason, policyOverride: false };
}

const READ_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** In limited mode a process may only send requests that read; connections whose method cannot be seen are refused. */
function modeRefusal({ protocol, method }: WantedConnection): NetworkDecision | undefined {
  if (protocol === 'http' && READ_METHODS.has(method ?? '')) return undefined;
  const reason = protocol === 'https_connect' ? 'mitm_required' : 'method_not_allowed';
  return { decision: 'deny', source: 'mode_guard', reason, policyOverride: false };
}

function printable(host: string): string {
  return host.replace(/[^\x21-\x7e]/g, '?').slice(0, 253);
}
