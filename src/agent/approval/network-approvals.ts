import type { NetworkProtocol } from '../../protocol/index.ts';
import { compileHosts, joinWords, type Rules } from '../rules/index.ts';
import type { ApprovalDecision, Approver, NetworkApproval } from './approver.ts';
import { type ApprovalPolicy, mayAsk } from './policy.ts';
import { questionMembers } from './question-members.ts';
import { untilAborted } from './until-aborted.ts';

type NetworkVerdict = 'allow' | 'deny';

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

/** A question about a host, which any number of connections wait for. */
interface OpenNetworkQuestion {
  readonly verdict: Promise<NetworkVerdict>;
  readonly abandon: AbortController;
  waiting: number;
}

interface NetworkApprovalsOptions {
  readonly policy: ApprovalPolicy;
  readonly approver: Approver;
  readonly rules: Rules;
  readonly onProblem: (error: Error) => void;
}

/** Open questions; a connection to one more host is denied without a question. */
const MOST_QUESTIONS = 64;
/** Hosts accepted for the session; the oldest is forgotten for a new one. */
const MOST_REMEMBERED = 1_000;

/** Decides about connections: by the rules, by answers for the session, otherwise by asking the user. */
export class NetworkApprovals {
  readonly #options: NetworkApprovalsOptions;
  readonly #accepted = new Set<string>();
  readonly #open = new Map<string, OpenNetworkQuestion>();

  constructor(options: NetworkApprovalsOptions) {
    this.#options = options;
  }

  async decide(request: NetworkRequest, signal?: AbortSignal): Promise<NetworkVerdict> {
    const { policy, rules } = this.#options;
    const host = normalizedHost(request.host);
    const { allowed, denied } = compileHosts((await rules.current()).networkRules);
    if (denied.includes(host)) return 'deny';
    const key = JSON.stringify([request.environmentId, host, request.port, request.protocol]);
    if (allowed.includes(host) || this.#accepted.has(key)) return 'allow';
    if (!mayAsk(policy, 'sandbox_approval') || signal?.aborted) return 'deny';
    return this.#wait(this.#openQuestion(key) ?? this.#ask(key, { ...request, host }), signal);
  }

  /** Waits for the answer; a waiter that gives up is denied. The last one to give up withdraws the question. */
  async #wait(pending: OpenNetworkQuestion | undefined, signal: AbortSignal | undefined): Promise<NetworkVerdict> {
    if (!pending) return 'deny';
    pending.waiting += 1;
    return untilAborted(pending.verdict, signal, () => {
      pending.waiting -= 1;
      if (pending.waiting === 0) pending.abandon.abort();
      return 'deny';
    });
  }

  /** The open question about a host, unless it has just been withdrawn. */
  #openQuestion(key: string): OpenNetworkQuestion | undefined {
    const pending = this.#open.get(key);
    return pending?.abandon.signal.aborted ? undefined : pending;
  }

  #ask(key: string, request: NetworkRequest): OpenNetworkQuestion | undefined {
    if (this.#open.size >= MOST_QUESTIONS) return undefined;
    const abandon = new AbortController();
    const verdict = untilAborted(
      this.#answer(key, request, abandon.signal),
      abandon.signal,
      (): NetworkVerdict => 'deny',
    );
    const forget = (): void => {
      if (this.#open.get(key) === pending) this.#open.delete(key);
    };
    const pending: OpenNetworkQuestion = { verdict: verdict.finally(forget), abandon, waiting: 0 };
    this.#open.set(key, pending);
    return pending;
  }

  async #answer(key: string, request: NetworkRequest, signal: AbortSignal): Promise<NetworkVerdict> {
    const { approver, onProblem } = this.#options;
    let decision: ApprovalDecision;
    try {
      ({ decision } = await approver.ask(networkQuestion(request), signal));
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

  async #persist({ host, protocol }: NetworkRequest, decision: NetworkVerdict): Promise<void> {
    const { rules, onProblem } = this.#options;
    const ruleProtocol = protocol === 'https_connect' ? 'https' : protocol;
    await rules.add({ kind: 'network', host, protocol: ruleProtocol, decision }).catch(onProblem);
  }
}

function networkQuestion(request: NetworkRequest): NetworkApproval {
  const { host, port, protocol, argv, cwd } = request;
  return {
    kind: 'network',
    ...questionMembers(request, `Network access to "${host}" is blocked by policy.`),
    host,
    port,
    protocol,
    ...(argv && { command: joinWords(argv), argv }),
    ...(cwd !== undefined && { cwd }),
    availableDecisions: ['accept', 'acceptForSession', 'acceptWithRule', 'denyWithRule', 'decline', 'cancel'],
  };
}

/** A host as rules spell it. */
function normalizedHost(host: string): string {
  return host
    .trim()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.+$/, '')
    .toLowerCase();
}
