import { randomUUID } from 'node:crypto';
import type { ApprovalQuestion } from './approver.ts';

/** The call that a question is about. */
interface QuestionSubject {
  readonly callId: string;
  readonly turnId?: string | undefined;
  readonly environmentId: string;
}

/** The members that all kinds of questions have. */
export function questionMembers(
  { callId, turnId, environmentId }: QuestionSubject,
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
