import type { EscalationReply } from '../escalation/index.ts';

const requestedSchema = {
  type: 'object' as const,
  title: 'Execution Permission Request',
  properties: { reason: { type: 'string' as const, description: 'Why, if you want to say so; the agent is told.' } },
};

/** A question in the words of `elicitation/create`. */
export const questionForm = (message: string) => ({ message, requestedSchema });

/** What the user answered. Anything but a clear yes is a no. */
export function replyOf(response: unknown): EscalationReply {
  const { action, content } = (response ?? {}) as { action?: unknown; content?: { reason?: unknown } | null };
  const reason = typeof content?.reason === 'string' ? content.reason : undefined;
  return { action: action === 'accept' || action === 'cancel' ? action : 'decline', reason };
}
