import { randomUUID } from 'node:crypto';
import type { ApprovalQuestion } from './approver.ts';

/** The subject of a question. */
interface Occasion {
  readonly callId: string;
  readonly turnId?: string | undefined;
  readonly environmentId: string;
}

/** The members that every question has. */
export function questionHead(
  { callId, turnId, environmentId }: Occasion,
  reason: string | undefined,
): Omit<ApprovalQuestion, 'availableDecisions'> {
  return {
    approvalId: randomUUID(),
    itemId: callId,
    ...(turnId !== undefined && { turnId }),
    environmentId,
    startedAtMs: Date.now(),
    ...(reason !== undefined && { reason }),
  };
}
