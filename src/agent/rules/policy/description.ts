import type { Decision, PrefixRule, RuleMatch } from './prefix-rule.ts';

/** How a message about an example names a rule. */
export function describeRule({ first, rest, decision, justification }: PrefixRule): string {
  const positions = rest.map((words) =>
    words.length === 1 ? `Single(${quote(words[0]!)})` : `Alts(${quoteAll(words)})`,
  );
  const pattern = `PrefixPattern { first: ${quote(first)}, rest: [${positions.join(', ')}] }`;
  return `PrefixRule { pattern: ${pattern}, decision: ${named(decision)}, justification: ${optional(justification)} }`;
}

export function describeMatch({ matchedPrefix, decision, resolvedProgram, justification }: RuleMatch): string {
  const program = resolvedProgram === undefined ? 'None' : `Some(AbsolutePathBuf(${quote(resolvedProgram)}))`;
  const outcome = `decision: ${named(decision)}, resolved_program: ${program}, justification: ${optional(justification)}`;
  return `PrefixRuleMatch { matched_prefix: ${quoteAll(matchedPrefix)}, ${outcome} }`;
}

/** A string in double quotes, with what cannot be seen escaped. */
export function quote(text: string): string {
  const escaped = (character: string): string => {
    const known = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\0': '\\0', '"': '\\"', '\\': '\\\\' }[character];
    return known ?? `\\u{${character.codePointAt(0)!.toString(16)}}`;
  };
  return `"${text.replace(/["\\\p{C}\p{Zl}\p{Zp}]/gu, escaped)}"`;
}

function quoteAll(words: readonly string[]): string {
  return `[${words.map(quote).join(', ')}]`;
}

function named(decision: Decision): string {
  return decision.slice(0, 1).toUpperCase() + decision.slice(1);
}

function optional(text: string | undefined): string {
  return text === undefined ? 'None' : `Some(${quote(text)})`;
}
