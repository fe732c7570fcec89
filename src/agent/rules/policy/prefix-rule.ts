export const decisions = ['allow', 'prompt', 'forbidden'] as const;

export type Decision = (typeof decisions)[number];

/** Matches commands that begin with these words. */
export interface PrefixRule {
  readonly first: string;
  /** The words at each further position, of which any matches. */
  readonly rest: readonly (readonly string[])[];
  readonly decision: Decision;
  readonly justification?: string;
}

export interface RuleMatch {
  readonly matchedPrefix: readonly string[];
  readonly decision: Decision;
  /** The path that matched a rule for its bare name. */
  readonly resolvedProgram?: string;
  readonly justification?: string;
}

/** Matches a rule with a command. `resolvedProgram` is the path whose basename the first word is. */
export function matchRule(
  { first, rest, decision, justification }: PrefixRule,
  command: readonly string[],
  resolvedProgram?: string,
): RuleMatch | undefined {
  const length = rest.length + 1;
  const matches = command[0] === first && rest.every((words, at) => words.includes(command[at + 1]!));
  if (!matches) return undefined;
  return {
    matchedPrefix: command.slice(0, length),
    decision,
    ...(resolvedProgram !== undefined && { resolvedProgram }),
    ...(justification !== undefined && { justification }),
  };
}

export function strictest(given: readonly Decision[]): Decision | undefined {
  return decisions.findLast((decision) => given.includes(decision));
}
