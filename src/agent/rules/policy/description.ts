import { quoted } from '../../../base/index.ts';
import type { Decision, PrefixRule, RuleMatch } from './prefix-rule.ts';

/** A rule in the reference's debug form, for messages about examples. */
export function describeRule({ first, rest, decision, justification }: PrefixRule): string {
  const positions = rest.map((words) =>
    words.length === 1 ? `Single(${quoted(words[0]!)})` : `Alts(${quoteAll(words)})`,
  );
  const pattern = `PrefixPattern { first: ${quoted(first)}, rest: [${positions.join(', ')}] }`;
  return `PrefixRule { pattern: ${pattern}, decision: ${named(decision)}, justification: ${optional(justification)} }`;
}

export function describeMatch({ matchedPrefix, decision, resolvedProgram, justification }: RuleMatch): string {
  const program = resolvedProgram === undefined ? 'None' : `Some(AbsolutePathBuf(${quoted(resolvedProgram)}))`;
  const outcome = `decision: ${named(decision)}, resolved_program: ${program}, justification: ${optional(justification)}`;
  return `PrefixRuleMatch { matched_prefix: ${quoteAll(matchedPrefix)}, ${outcome} }`;
}

function quoteAll(words: readonly string[]): string {
  return `[${words.map(quoted).join(', ')}]`;
}

function named(decision: Decision): string {
  return decision.slice(0, 1).toUpperCase() + decision.slice(1);
}

function optional(text: string | undefined): string {
  return text === undefined ? 'None' : `Some(${quoted(text)})`;
}
