import { isIP } from 'node:net';
import type { NetworkProtocol } from '../../protocol/index.ts';
import { normalizeHost } from './host.ts';
import type { NetworkPolicy } from './policy.ts';
import type { ResolvedProxy } from './upstream-proxy.ts';
import type { UpstreamRoute } from './upstream-route.ts';

/** One connection that a process wants. */
export interface Attempt {
  readonly protocol: NetworkProtocol;
  readonly host: string;
  readonly port: number;
  readonly method?: string;
  /** The kind of upstream proxy that may carry it; absent for connections that are always direct. */
  readonly upstream?: 'http' | 'https';
  /** Address of the process's end. */
  readonly client: string;
}

export interface Decision {
  readonly decision: 'allow' | 'deny' | 'ask';
  readonly source: 'baseline_policy' | 'mode_guard' | 'decider';
  readonly reason: string;
  readonly policyOverride: boolean;
}

/** What a process gets: the way to the host, or the decision against it. */
export type Verdict =
  | {
      readonly allowed: true;
      readonly host: string;
      readonly addresses: readonly string[];
      /** To be used instead of the addresses. */
      readonly proxy: ResolvedProxy | undefined;
    }
  | { readonly allowed: false; readonly host: string; readonly refusal: Decision };

/** What the client says about a host that is not listed. */
export type Opinion = { readonly type: 'allow' } | { readonly type: 'deny' | 'ask'; readonly reason: string };

export interface GateOptions {
  readonly policy: NetworkPolicy;
  /** All addresses of a name; none when there is no such name. */
  readonly resolve: (host: string) => Promise<readonly string[]>;
  /** Asks the client; absent where it does not want to be asked. */
  readonly ask?: (attempt: Attempt, signal: AbortSignal) => Promise<Opinion>;
  readonly report: (attempt: Attempt, decision: Decision) => void;
  /** Absent where the process may not use upstream proxies. */
  readonly route?: UpstreamRoute;
  /** Whether an address and port lead to a listener of this product, through which work could be started. */
  readonly isOwn: (addresses: readonly string[], port: number) => Promise<boolean>;
}

/** Decides about every connection of one process, and tells the client. */
export class Gate {
  readonly #options: GateOptions;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  async admit(wanted: Attempt, signal: AbortSignal): Promise<Verdict> {
    const host = normalizeHost(wanted.host);
    if (host === undefined) return this.#refuse({ ...wanted, host: printable(wanted.host) }, baseline('not_allowed'));
    const attempt = { ...wanted, host };
    const decision = await this.#decide(attempt, signal);
    if (decision.decision !== 'allow') return this.#refuse(attempt, decision);
    const addresses = await this.#options.resolve(host);
    if (!this.#options.policy.permits(host, addresses)) return this.#refuse(attempt, baseline('not_allowed_local'));
    const proxy = await this.#proxyTo(attempt, addresses);
    if (await this.#leadsToOwn(attempt, addresses, proxy)) {
      return this.#refuse(attempt, baseline('not_allowed_local'));
    }
    const { policy, report } = this.#options;
    const guard = policy.limited ? modeRefusal(attempt) : undefined;
    // For SOCKS the mode alone settles the matter.
    if (!guard || !attempt.protocol.startsWith('socks5')) report(attempt, decision);
    return guard ? this.#refuse(attempt, guard) : { allowed: true, host, addresses, proxy };
  }

  async #proxyTo({ host, upstream }: Attempt, addresses: readonly string[]): Promise<ResolvedProxy | undefined> {
    const { route, resolve } = this.#options;
    const proxy = upstream && route?.proxyTo(host, addresses, upstream);
    return proxy && route && { ...proxy, addresses: await resolve(proxy.host), roots: route.roots };
  }

  /** An upstream proxy resolves names once more: one that runs on this machine may be led to any port of it. */
  async #leadsToOwn({ host, port }: Attempt, addresses: readonly string[], proxy?: ResolvedProxy): Promise<boolean> {
    const { isOwn } = this.#options;
    if (await isOwn(addresses, port)) return true;
    return proxy !== undefined && isIP(host) === 0 && (await isOwn(proxy.addresses, port));
  }

  async #decide(attempt: Attempt, signal: AbortSignal): Promise<Decision> {
    const { policy, ask } = this.#options;
    const reason = policy.baseline(attempt.host);
    if (reason !== 'not_allowed' || !ask) return baseline(reason);
    const opinion = await ask(attempt, signal);
    if (opinion.type !== 'allow') {
      const { type: decision, reason } = opinion;
      return { decision, source: 'decider', reason, policyOverride: false };
    }
    return { decision: 'allow', source: 'decider', reason, policyOverride: true };
  }

  #refuse(attempt: Attempt, refusal: Decision): Verdict {
    this.#options.report(attempt, refusal);
    return { allowed: false, host: attempt.host, refusal };
  }
}

function baseline(reason: string): Decision {
  const decision = reason === 'allow' ? 'allow' : 'deny';
  return { decision, source: 'baseline_policy', reason, policyOverride: false };
}

const readingMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** In limited mode a process may only look; where the method cannot be seen it may do nothing. */
function modeRefusal({ protocol, method }: Attempt): Decision | undefined {
  if (protocol === 'http' && readingMethods.has(method ?? '')) return undefined;
  const reason = protocol === 'https_connect' ? 'mitm_required' : 'method_not_allowed';
  return { decision: 'deny', source: 'mode_guard', reason, policyOverride: false };
}

function printable(host: string): string {
  return host.replace(/[^\x21-\x7e]/g, '?').slice(0, 253);
}
