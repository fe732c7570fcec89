import { randomUUID } from 'node:crypto';
import { joinWords } from '../rules/index.ts';
import type { CommandApproval } from './approver.ts';
import { actionsOf } from './command-actions.ts';
import type { CommandRequest } from './command-request.ts';

/** The question whether a command may run. Declining and accepting for the session are understood though not offered. */
export function commandQuestion(
  request: CommandRequest,
  reason: string | undefined,
  proposedRule: readonly string[] | undefined,
): CommandApproval {
  const { callId, turnId, environmentId, argv, cwd, tty, sandboxPermissions, additionalPermissions } = request;
  return {
    kind: 'command',
    approvalId: randomUUID(),
    itemId: callId,
    ...(turnId !== undefined && { turnId }),
    environmentId,
    startedAtMs: Date.now(),
    ...(reason !== undefined && { reason }),
    command: joinWords(argv),
    argv,
    cwd,
    tty,
    sandboxPermissions,
    ...(additionalPermissions && { additionalPermissions }),
    actions: actionsOf(argv, cwd),
    ...(proposedRule && { proposedRule }),
    availableDecisions: proposedRule ? ['accept', 'acceptWithRule', 'cancel'] : ['accept', 'cancel'],
  };
}
