import { joinWords } from '../rules/index.ts';
import type { CommandApproval } from './approver.ts';
import { actionsOf } from './command-actions.ts';
import type { CommandRequest } from './command-request.ts';
import { questionMembers } from './question-members.ts';

/** The question whether a command may run. `decline` and `acceptForSession` are accepted as answers, though not offered. */
export function commandQuestion(
  request: CommandRequest,
  reason: string | undefined,
  proposedRule: readonly string[] | undefined,
): CommandApproval {
  const { argv, cwd, tty, sandboxPermissions, additionalPermissions } = request;
  return {
    kind: 'command',
    ...questionMembers(request, reason),
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
