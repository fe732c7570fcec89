import { Deadline } from '../base/index.ts';
import {
  type ClientDecision,
  ManagedNetwork,
  type NetworkDecision,
  type WantedConnection,
} from '../host/network/index.ts';
import { clientMethods, decode, ExecError, encode, limits, type Params } from '../protocol/index.ts';
import type { RequestContext } from './handlers.ts';
import type { ServerSession } from './session.ts';

/** Added to the client's time to answer, so that the client's own timeout fires first. */
const BUDGET_SLACK_MS = 5000;

const LONGEST_PROCESS_ID_BYTES = 256;
const LONGEST_REASON_BYTES = 1024;

type NetworkProxy = NonNullable<Params<'process/start'>['networkProxy']>;

/** Starts the managed network of a process that is about to be started. */
export async function launchNetwork(
  { session, host, audit, counters }: Pick<RequestContext, 'session' | 'host' | 'audit' | 'counters'>,
  processId: string,
  settings: NetworkProxy,
): Promise<ManagedNetwork> {
  const { policyDecisionTimeoutMs } = settings;
  if (policyDecisionTimeoutMs != null) checkCallback(processId, policyDecisionTimeoutMs);
  return await ManagedNetwork.start({
    settings,
    ask: async (wanted, signal) => {
      using budget = new Deadline((policyDecisionTimeoutMs ?? 0) + BUDGET_SLACK_MS, signal);
      const decision = await ask(session, processId, wanted, budget.signal);
      audit.record({ event: 'approval.answered', processId, ...answered(wanted, decision) });
      return decision;
    },
    upstream: { outgoing: host.outgoing, privateAddresses: session.proxyPrivateIpsViaUpstream },
    report: (wanted, decision) => {
      if (decision.decision === 'deny') counters.denials.network++;
      report(session, processId, wanted, decision);
    },
  });
}

function checkCallback(processId: string, timeoutMs: number): void {
  if (timeoutMs === 0) {
    throw new ExecError('invalidParams', 'network policy decision callback timeout must be nonzero');
  }
  if (processId === '' || Buffer.byteLength(processId) > LONGEST_PROCESS_ID_BYTES) {
    const text = `callback-enabled process ID must be non-empty and at most ${LONGEST_PROCESS_ID_BYTES} bytes`;
    throw new ExecError('invalidParams', text);
  }
}

/** A late, failed or invalid answer and an absent client all deny the connection. */
async function ask(
  session: ServerSession,
  processId: string,
  wanted: WantedConnection,
  signal: AbortSignal,
): Promise<ClientDecision> {
  const { params, result } = clientMethods['network/policyRequest'];
  const { protocol, host, port } = wanted;
  try {
    const question = encode(params, { processId, request: { protocol, host, port } });
    const { decision } = decode(result, await session.request('network/policyRequest', question, signal));
    if (decision.type === 'allow') return decision;
    return isPresentable(decision.reason) ? { ...decision, reason: decision.reason || 'policy_denied' } : noAnswer;
  } catch {
    return noAnswer; // which denies the connection
  }
}

function answered({ protocol, host, port }: WantedConnection, decision: ClientDecision) {
  const reason = decision.type === 'allow' ? undefined : decision.reason;
  return { decision: decision.type === 'allow' ? 'allow' : 'deny', protocol, host, port, reason } as const;
}

const noAnswer: ClientDecision = { type: 'deny', reason: 'not_allowed' };

function isPresentable(reason: string): boolean {
  return Buffer.byteLength(reason) <= LONGEST_REASON_BYTES && !/\p{Cc}/u.test(reason);
}

function report(session: ServerSession, processId: string, wanted: WantedConnection, decision: NetworkDecision): void {
  const { protocol, host, port, method, client } = wanted;
  session.notifyIfRoom(
    'network/policyDecision',
    {
      processId,
      timestamp: new Date().toISOString(),
      scope: decision.source === 'mode_guard' ? 'non_domain' : 'domain',
      decision: decision.decision,
      source: decision.source,
      reason: decision.reason,
      protocol,
      host,
      port,
      ...(method !== undefined && { method }),
      client,
      policyOverride: decision.policyOverride,
    },
    limits.policyDecisionsQueued,
  );
}
