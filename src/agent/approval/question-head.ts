import { randomUUID } from 'node:crypto';
import type { ApprovalQuestion } from './approver.ts';

/** What a question is about. */
interface Occasion {
  readonly callId: string;
  readonly turnId?: string | undefined;
  readonly environmentId: string;
}

/** What every question begins with. */
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
