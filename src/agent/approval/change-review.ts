import { joinWords, type Policy } from '../rules/index.ts';
import type { ChangeApproval, ChangedFile } from './approver.ts';
import { type ApprovalPolicy, mayAsk } from './policy.ts';
import { questionMembers } from './question-members.ts';
import { blockedRefusal, forbiddenRefusal, promptReason, unaskableRefusal } from './refusal-texts.ts';

/** Files that a tool wants to change. */
export interface ChangeRequest {
  readonly callId: string;
  readonly turnId?: string;
  readonly environmentId: string;
  /** Rules judge each path as the command `tool path`. */
  readonly tool: string;
  readonly changes: readonly ChangedFile[];
  /** The paths that the sandbox does not let be written. */
  readonly outside: readonly string[];
  /** Why the sandbox does not. */
  readonly obstacle: string;
  readonly justification?: string;
}

/** Whether files may be changed, and what has to be asked before. */
export type ChangeReview =
  | { readonly kind: 'skip' }
  /** The user has to agree to these paths. */
  | { readonly kind: 'ask'; readonly paths: readonly string[]; readonly reason?: string }
  | { readonly kind: 'forbid'; readonly reason: string };

/** Judges changes by policy and rules, path by path; the strictest answer counts for all of them. */
export function reviewChanges(request: ChangeRequest, policy: ApprovalPolicy, rules: Policy): ChangeReview {
  const { tool, obstacle, justification } = request;
  const outside = new Set(request.outside);
  const judged = changedPaths(request.changes).map((path) => {
    const needsConsent = policy === 'untrusted' || outside.has(path);
    const command = [tool, path];
    return { path, command, evaluation: rules.checkAll([command], () => (needsConsent ? 'prompt' : 'allow')) };
  });
  const forbidden = judged.find(({ evaluation }) => evaluation.decision === 'forbidden');
  if (forbidden) return { kind: 'forbid', reason: forbiddenRefusal(forbidden.command, forbidden.evaluation) };
  const asked = judged.filter(({ evaluation }) => evaluation.decision === 'prompt');
  if (asked.length === 0) return { kind: 'skip' };
  if (asked.some(({ path }) => outside.has(path)) && !mayAsk(policy, 'sandbox_approval')) {
    return { kind: 'forbid', reason: blockedRefusal(obstacle) };
  }
  const [ruleReason] = asked.flatMap(({ command, evaluation }) => promptReason(command, evaluation) ?? []);
  if (ruleReason !== undefined && !mayAsk(policy, 'rules')) {
    return { kind: 'forbid', reason: unaskableRefusal(policy, 'rules', false) };
  }
  const reason = ruleReason ?? justification;
  return { kind: 'ask', paths: asked.map(({ path }) => path), ...(reason !== undefined && { reason }) };
}

/** The question whether files may be changed. `acceptForSession` covers every file that it names; a rule is not offered. */
export function changeQuestion(request: ChangeRequest, reason: string | undefined): ChangeApproval {
  const { tool, changes, outside } = request;
  return {
    kind: 'fileChange',
    ...questionMembers(request, reason),
    command: joinWords([tool, ...changedPaths(changes)]),
    changes,
    outside,
    availableDecisions: ['accept', 'acceptForSession', 'decline', 'cancel'],
  };
}

/** The paths that are written or removed. */
export function changedPaths(changes: readonly ChangedFile[]): string[] {
  return [...new Set(changes.flatMap(({ path, movedTo }) => (movedTo === undefined ? [path] : [path, movedTo])))];
}
