import type { NetworkDecision, WantedConnection } from './gate.ts';

/** The texts for a refused program, by reason. */
const messages: Readonly<Record<string, string>> = {
  denied: 'the network policy of this command denies the host',
  not_allowed: 'the network policy of this command does not list the host',
  not_allowed_local:
    'the host is local or has no public address, and the network policy of this command does not list it',
  method_not_allowed: 'the network of this command is limited to GET, HEAD and OPTIONS requests over plain HTTP',
  mitm_required: 'the network of this command is limited to requests whose method can be seen, which a tunnel hides',
};

const proxyErrors: Readonly<Record<string, string>> = {
  denied: 'blocked-by-denylist',
  not_allowed: 'blocked-by-allowlist',
  not_allowed_local: 'blocked-by-allowlist',
  method_not_allowed: 'blocked-by-method-policy',
  mitm_required: 'blocked-by-mitm-required',
};

export function refusalMessage({ reason }: NetworkDecision): string {
  return entryOf(messages, reason) ?? 'the client decided against this connection';
}

/** The value of the `x-proxy-error` header, by which tools recognise a refusal. */
export function proxyError({ reason }: NetworkDecision): string {
  return entryOf(proxyErrors, reason) ?? 'blocked-by-policy';
}

/** The body of a refused plain request. */
export function refusalBody({ protocol, host, port }: WantedConnection, refusal: NetworkDecision): string {
  const { reason, decision, source } = refusal;
  const message = refusalMessage(refusal);
  return JSON.stringify({ status: 'blocked', host, reason, decision, source, protocol, port, message });
}

function entryOf(table: Readonly<Record<string, string>>, reason: string): string | undefined {
  return Object.hasOwn(table, reason) ? table[reason] : undefined;
}
