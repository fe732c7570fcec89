import { type Decision, type Evaluation, type Policy, withRule } from '../rules/index.ts';
import { isTooBroad } from './too-broad.ts';

export interface ProposalFacts {
  readonly commands: readonly (readonly string[])[];
  readonly evaluation: Evaluation;
  readonly rules: Policy;
  /** Judges a command by other rules, with the same policy and options. */
  readonly judge: (rules: Policy, command: readonly string[]) => Decision | undefined;
  /** The rule that the model proposes. */
  readonly wanted: readonly string[] | undefined;
}

/** The rule to offer with a question: the model's if it covers the command, otherwise the first part that asks. */
export function proposeRule(facts: ProposalFacts): readonly string[] | undefined {
  const { wanted, evaluation } = facts;
  if (wanted && isAcceptable(wanted, facts)) return wanted;
  return firstUnknown(evaluation, 'prompt');
}

/** The rule to offer when the sandbox has refused something to a command that needed no approval. */
export function proposeRetryRule(evaluation: Evaluation): readonly string[] | undefined {
  return hasRule(evaluation) ? undefined : firstUnknown(evaluation, 'allow');
}

function isAcceptable(wanted: readonly string[], { evaluation, rules, commands, judge }: ProposalFacts): boolean {
  if (isTooBroad(wanted) || hasRule(evaluation)) return false;
  const extended = withRule(rules, { kind: 'prefix', pattern: wanted });
  return commands.every((command) => judge(extended, command) === 'allow');
}

/** The first command that only the heuristic has decided about; undefined where a rule asks, as it would go on asking. */
function firstUnknown({ matchedRules }: Evaluation, decision: Decision): readonly string[] | undefined {
  const asks = matchedRules.some((match) => 'prefixRuleMatch' in match && match.prefixRuleMatch.decision === 'prompt');
  if (asks) return undefined;
  const unknown = matchedRules.find(
    (match) => 'heuristicsRuleMatch' in match && match.heuristicsRuleMatch.decision === decision,
  );
  const command = unknown && 'heuristicsRuleMatch' in unknown ? unknown.heuristicsRuleMatch.command : undefined;
  return command && !isTooBroad(command) ? command : undefined;
}

const hasRule = ({ matchedRules }: Evaluation): boolean => matchedRules.some((match) => 'prefixRuleMatch' in match);
