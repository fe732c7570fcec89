import type { EscalationReply } from '../../escalation/index.ts';

const requestedSchema = {
  type: 'object' as const,
  title: 'Execution Permission Request',
  properties: { reason: { type: 'string' as const, description: 'Your reason, which the agent is told. Optional.' } },
};

/** The parameters of `elicitation/create` for a question. */
export const questionForm = (message: string) => ({ message, requestedSchema });

/** Parses the result of `elicitation/create`. Anything else than `accept` and `cancel` counts as declined. */
export function escalationReply(response: unknown): EscalationReply {
  const { action, content } = (response ?? {}) as { action?: unknown; content?: { reason?: unknown } | null };
  const reason = typeof content?.reason === 'string' ? content.reason : undefined;
  return { action: action === 'accept' || action === 'cancel' ? action : 'decline', reason };
}
