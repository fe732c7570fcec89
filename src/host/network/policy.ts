import { isIP } from 'node:net';
import { ExecError, type NetworkProxyRules } from '../../protocol/index.ts';
import { isLoopbackAddress, isNonPublic } from './address.ts';
import { DomainPatterns, matchesEverything } from './domain-patterns.ts';
import { isLocalName } from './host-name.ts';

/** The decision of the lists about a host. */
export type Baseline = 'allow' | 'denied' | 'not_allowed' | 'not_allowed_local';

/** Which hosts a process may reach. */
export class NetworkPolicy {
  readonly limited: boolean;
  readonly #allowLocal: boolean;
  readonly #allowed: DomainPatterns;
  readonly #denied: DomainPatterns;
  readonly #reviewed: DomainPatterns;

  constructor(rules: NetworkProxyRules) {
    const { mode, domains, allowLocalBinding, reviewDomains } = rules;
    const listed = (access: string) =>
      Object.entries(domains ?? {}).flatMap(([pattern, given]) => (given === access ? [pattern] : []));
    const unscoped = listed('deny').find(matchesEverything);
    if (unscoped !== undefined) {
      throw invalid(
        `invalid value for network.denied_domains: ${unscoped} (allowed exact hosts or scoped wildcards like *.example.com or **.example.com)`,
      );
    }
    this.limited = mode === 'limited';
    this.#allowLocal = allowLocalBinding;
    this.#allowed = compile(listed('allow'));
    this.#denied = compile(listed('deny'));
    this.#reviewed = compile(reviewDomains ?? []);
  }

  baseline(host: string): Baseline {
    if (this.#denied.match(host)) return 'denied';
    if (!this.#allowLocal && isLocalName(host) && !this.#allowed.lists(host)) return 'not_allowed_local';
    if (this.#reviewed.match(host)) return 'not_allowed';
    return this.#allowed.match(host) ? 'allow' : 'not_allowed';
  }

  /** Whether a host may be reached at its addresses. A host without addresses may not: an upstream proxy could resolve it otherwise. */
  permits(host: string, addresses: readonly string[]): boolean {
    if (this.#allowLocal) return true;
    if (addresses.length === 0) return false;
    if (!isLocalName(host)) return !addresses.some(isNonPublic);
    return isIP(host) !== 0 || addresses.every(isLoopbackAddress);
  }
}

function compile(patterns: readonly string[]): DomainPatterns {
  try {
    return new DomainPatterns(patterns);
  } catch (error) {
    throw invalid((error as Error).message);
  }
}

function invalid(reason: string): ExecError {
  return new ExecError('invalidParams', `invalid network proxy config: ${reason}`);
}
