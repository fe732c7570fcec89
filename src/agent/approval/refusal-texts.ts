import { type Evaluation, joinWords, type RuleMatch } from '../rules/index.ts';
import type { ApprovalPolicy } from './policy.ts';

/** These texts are the reference's, which models know. */
export const DECLINED = 'rejected by user';
export const RETRY_QUESTION = 'command failed; retry without sandbox?';
const FORCED_REMOVAL = 'rm -f style commands are not permitted. Use a safer approach';
const UNASKABLE = 'approval required by policy, but AskForApproval is set to Never';
const NO_SANDBOX_QUESTIONS = 'approval required by policy, but AskForApproval::Granular.sandbox_approval is false';
const NO_RULE_QUESTIONS = 'approval required by policy rule, but AskForApproval::Granular.rules is false';

export const OWN_NETWORK_POLICY =
  'escalated permissions cannot be granted: this environment enforces a network policy of its own, inside the sandbox only';

/** The refusal of a command whose directory was replaced during the question. */
export const replacedRefusal = (cwd: string): string =>
  `the working directory ${cwd} has been replaced since the question`;

/** The refusal of a request to leave the sandbox, under a policy that forbids asking. */
export function escalationRefusal(policy: ApprovalPolicy): string {
  const name = policyName(policy);
  return `approval policy is ${name}; reject command — you cannot ask for escalated permissions if the approval policy is ${name}`;
}

/** The refusal of additional permissions, which can be asked for under one policy only. */
export function additionalRefusal(policy: ApprovalPolicy): string {
  return `approval policy is ${policyName(policy)}; reject command — you cannot request additional permissions unless the approval policy is OnRequest`;
}

/** The refusal of a forbidden command: with the reason of the longest rule, otherwise of the heuristic. */
export function forbiddenRefusal(argv: readonly string[], { matchedRules }: Evaluation): string {
  const rule = longest({ matchedRules }, 'forbidden');
  const why = rule ? (rule.justification ?? forbiddenPrefix(rule)) : FORCED_REMOVAL;
  return `\`${joinWords(argv)}\` rejected: ${why}`;
}

/** The refusal of changes that the sandbox forbids, under a policy that forbids asking. */
export const blockedRefusal = (obstacle: string): string => `${obstacle}; rejected by user approval settings`;

/** The refusal of a command that needs a question which the policy does not permit. */
export function unaskableRefusal(
  policy: ApprovalPolicy,
  asks: 'rules' | 'sandbox_approval',
  isDangerous: boolean,
): string {
  if (policy === 'never') return UNASKABLE;
  if (asks === 'rules') return NO_RULE_QUESTIONS;
  return isDangerous ? FORCED_REMOVAL : NO_SANDBOX_QUESTIONS;
}

/** The reason that a rule gives for a question; undefined when no rule asks. */
export function promptReason(argv: readonly string[], evaluation: Evaluation): string | undefined {
  const rule = longest(evaluation, 'prompt');
  if (!rule) return undefined;
  const command = `\`${joinWords(argv)}\``;
  if (rule.justification === undefined) return `${command} requires approval by policy`;
  return `${command} requires approval: ${rule.justification}`;
}

/** The longest match with a decision; among equals the last one. */
function longest({ matchedRules }: Evaluation, decision: RuleMatch['decision']): RuleMatch | undefined {
  const rules = matchedRules.flatMap((match) => ('prefixRuleMatch' in match ? match.prefixRuleMatch : []));
  return rules
    .filter((rule) => rule.decision === decision)
    .reduce<RuleMatch | undefined>(
      (best, rule) => (best && best.matchedPrefix.length > rule.matchedPrefix.length ? best : rule),
      undefined,
    );
}

const forbiddenPrefix = ({ matchedPrefix }: RuleMatch): string =>
  `policy forbids commands starting with \`${joinWords(matchedPrefix)}\``;

function policyName(policy: ApprovalPolicy): string {
  if (typeof policy === 'string')
    return { never: 'Never', 'on-request': 'OnRequest', untrusted: 'UnlessTrusted' }[policy];
  const { sandbox_approval, rules, skill_approval, request_permissions, mcp_elicitations } = policy.granular;
  const settings = { sandbox_approval, rules, skill_approval, request_permissions, mcp_elicitations };
  const shown = Object.entries(settings).map(([key, value]) => `${key}: ${value}`);
  return `Granular(GranularApprovalConfig { ${shown.join(', ')} })`;
}
