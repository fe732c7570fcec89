import { type Decision, isDangerous, isSystemProgram, type Policy, plainCommands } from '../rules/index.ts';
import { type CommandRequest, isConfined } from './command-request.ts';
import { type ApprovalPolicy, mayAsk } from './policy.ts';
import {
  escalationRefusal,
  forbiddenRefusal,
  OWN_NETWORK_POLICY,
  promptReason,
  unaskableRefusal,
} from './refusal-texts.ts';
import type { RejectionKind } from './rejection.ts';
import { proposeRetryRule, proposeRule } from './rule-proposal.ts';

/** Whether a command may run, and what has to be asked before. */
export type Requirement =
  | {
      readonly kind: 'skip';
      /** Rules allow every part of the command, which lets it leave the sandbox. */
      readonly bypassesSandbox: boolean;
      readonly proposedRule?: readonly string[];
    }
  | { readonly kind: 'ask'; readonly reason?: string; readonly proposedRule?: readonly string[] }
  | { readonly kind: 'forbid'; readonly cause: RejectionKind; readonly reason: string };

/** Facts about a command that no rule matches. */
interface UnknownCommand {
  readonly isDangerous: boolean;
  /** Something confines the command. */
  readonly isConfined: boolean;
  /** The call asks for more than the default sandbox permits. */
  readonly wantsMore: boolean;
}

/** Decides about a command that no rule matches. */
function judgeUnknown(policy: ApprovalPolicy, command: UnknownCommand): Decision {
  if (command.isDangerous) return policy === 'never' ? 'forbidden' : 'prompt';
  if (policy === 'never') return 'allow';
  if (policy === 'untrusted') return 'prompt';
  return command.isConfined && command.wantsMore ? 'prompt' : 'allow';
}

/** Judges a command by policy and rules. A shell script of plain commands is judged part by part, any other as a whole. */
export function requirementFor(request: CommandRequest, policy: ApprovalPolicy, rules: Policy): Requirement {
  const wantsMore = request.sandboxPermissions !== 'use_default';
  if (wantsMore && !mayAsk(policy, 'sandbox_approval')) return forbid('escalation', escalationRefusal(policy));
  if (request.sandboxPermissions === 'require_escalated' && request.confinement.ownNetworkPolicy) {
    return forbid('escalation', OWN_NETWORK_POLICY);
  }

  const commands = plainCommands(request.argv) ?? [request.argv];
  const options = { resolveHostExecutables: true, cwd: request.cwd, isTrusted: isSystemProgram };
  const unknown = (command: readonly string[]): Decision =>
    judgeUnknown(policy, { isDangerous: isDangerous(command), isConfined: isConfined(request.confinement), wantsMore });
  const evaluation = rules.checkAll(commands, unknown, options);

  if (evaluation.decision === 'forbidden') return forbid('policy', forbiddenRefusal(request.argv, evaluation));
  if (evaluation.decision === 'prompt') {
    const ruleReason = promptReason(request.argv, evaluation);
    const asks = ruleReason === undefined ? 'sandbox_approval' : 'rules';
    const isHarmful = commands.some((command) => isDangerous(command));
    if (!mayAsk(policy, asks)) return forbid('policy', unaskableRefusal(policy, asks, isHarmful));
    const judge = (other: Policy, command: readonly string[]) => other.checkAll([command], unknown, options).decision;
    const proposedRule = proposeRule({ commands, evaluation, rules, judge, wanted: request.prefixRule });
    const reason = ruleReason ?? request.justification;
    return { kind: 'ask', ...(reason !== undefined && { reason }), ...(proposedRule && { proposedRule }) };
  }
  const proposedRule = proposeRetryRule(evaluation);
  const bypassesSandbox = commands.every((command) => rules.check(command, options).decision === 'allow');
  return { kind: 'skip', bypassesSandbox, ...(proposedRule && { proposedRule }) };
}

const forbid = (cause: RejectionKind, reason: string): Requirement => ({ kind: 'forbid', cause, reason });
