import type { NetworkProtocol } from '../../protocol/index.ts';
import { compileHosts, joinWords, type Rules } from '../rules/index.ts';
import type { ApprovalDecision, Approver, NetworkApproval } from './approver.ts';
import { type ApprovalPolicy, mayAsk } from './policy.ts';
import { questionHead } from './question-head.ts';
import { untilAborted } from './until-aborted.ts';

type Verdict = 'allow' | 'deny';

/** A connection to a host that no rule or answer covers yet. */
export interface NetworkRequest {
  readonly callId: string;
  readonly turnId?: string;
  readonly environmentId: string;
  readonly host: string;
  readonly port: number;
  readonly protocol: NetworkProtocol;
  readonly argv?: readonly string[];
  readonly cwd?: string;
}

interface Pending {
  readonly verdict: Promise<Verdict>;
  readonly abandon: AbortController;
  waiting: number;
}

interface NetworkApprovalsOptions {
  readonly policy: ApprovalPolicy;
  readonly approver: Approver;
  readonly rules: Rules;
  readonly onProblem: (error: Error) => void;
}

/** Beyond these, hosts are refused rather than queued or remembered. */
const MOST_QUESTIONS = 64;
const MOST_REMEMBERED = 1_000;

/** Decides about hosts: by the rules, by what was answered for the session, else by asking. */
export class NetworkApprovals {
  readonly #options: NetworkApprovalsOptions;
  readonly #accepted = new Set<string>();
  readonly #pending = new Map<string, Pending>();

  constructor(options: NetworkApprovalsOptions) {
    this.#options = options;
  }

  async decide(request: NetworkRequest, signal?: AbortSignal): Promise<Verdict> {
    const { policy, rules } = this.#options;
    const host = normal(request.host);
    const { allowed, denied } = compileHosts((await rules.current()).networkRules);
    if (denied.includes(host)) return 'deny';
    const key = JSON.stringify([request.environmentId, host, request.port, request.protocol]);
    if (allowed.includes(host) || this.#accepted.has(key)) return 'allow';
    if (!mayAsk(policy, 'sandbox_approval') || signal?.aborted) return 'deny';
    return this.#wait(this.#standing(key) ?? this.#ask(key, { ...request, host }), signal);
  }

  /** A waiter that gives up is denied. The question stands as long as one waiter is left. */
  async #wait(pending: Pending | undefined, signal: AbortSignal | undefined): Promise<Verdict> {
    if (!pending) return 'deny';
    pending.waiting += 1;
    return untilAborted(pending.verdict, signal, () => {
      pending.waiting -= 1;
      if (pending.waiting === 0) pending.abandon.abort();
      return 'deny';
    });
  }

  /** The open question about a host. One that was just withdrawn is replaced. */
  #standing(key: string): Pending | undefined {
    const pending = this.#pending.get(key);
    return pending?.abandon.signal.aborted ? undefined : pending;
  }

  #ask(key: string, request: NetworkRequest): Pending | undefined {
    if (this.#pending.size >= MOST_QUESTIONS) return undefined;
    const abandon = new AbortController();
    const verdict = untilAborted(this.#answer(key, request, abandon.signal), abandon.signal, (): Verdict => 'deny');
    const forget = (): void => {
      if (this.#pending.get(key) === pending) this.#pending.delete(key);
    };
    const pending: Pending = { verdict: verdict.finally(forget), abandon, waiting: 0 };
    this.#pending.set(key, pending);
    return pending;
  }

  async #answer(key: string, request: NetworkRequest, signal: AbortSignal): Promise<Verdict> {
    const { approver, onProblem } = this.#options;
    let decision: ApprovalDecision;
    try {
      ({ decision } = await approver.ask(question(request), signal));
    } catch (error) {
      onProblem(error as Error);
      return 'deny'; // a user who cannot be asked has not agreed
    }
    if (signal.aborted) return 'deny';
    if (decision === 'acceptWithRule') await this.#persist(request, 'allow');
    if (decision === 'denyWithRule') await this.#persist(request, 'deny');
    if (decision === 'acceptForSession') this.#remember(key);
    return decision.startsWith('accept') ? 'allow' : 'deny';
  }

  #remember(key: string): void {
    this.#accepted.add(key);
    if (this.#accepted.size > MOST_REMEMBERED) this.#accepted.delete(this.#accepted.values().next().value!);
  }

  async #persist({ host, protocol }: NetworkRequest, decision: Verdict): Promise<void> {
    const { rules, onProblem } = this.#options;
    const ruleProtocol = protocol === 'https_connect' ? 'https' : protocol;
    await rules.add({ kind: 'network', host, protocol: ruleProtocol, decision }).catch(onProblem);
  }
}

function question(request: NetworkRequest): NetworkApproval {
  const { host, port, protocol, argv, cwd } = request;
  return {
    kind: 'network',
    ...questionHead(request, `Network access to "${host}" is blocked by policy.`),
    host,
    port,
    protocol,
    ...(argv && { command: joinWords(argv), argv }),
    ...(cwd !== undefined && { cwd }),
    availableDecisions: ['accept', 'acceptForSession', 'acceptWithRule', 'denyWithRule', 'decline', 'cancel'],
  };
}

/** As rules spell hosts. */
function normal(host: string): string {
  return host
    .trim()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.+$/, '')
    .toLowerCase();
}
