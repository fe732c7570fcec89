import { basename } from 'node:path';
import {
  type Decision,
  isDangerous,
  isHarmless,
  isSystemProgram,
  type Policy,
  type RuleMatch,
} from '../rules/index.ts';
import type { Passage } from './broker.ts';

/** The verdict of the rules about a program that is to be executed. */
export interface Judgement {
  readonly decision: Decision;
  /** Whether a rule says so, and not only the look of the command: what a rule allows may leave the sandbox. */
  readonly byRule: boolean;
  /** Whether a rule names this very path, so that it may be trusted wherever it lies. */
  readonly namesPath: boolean;
  /** Of the most specific rule among those that decide. */
  readonly justification: string | undefined;
}

export interface JudgeOptions {
  /** Rules see the full path alone; those for a bare name do not count. */
  readonly preserveProgramPaths: boolean;
}

/** Judges an absolute path and its arguments. What a program is told to be its name does not count. */
export function judge(policy: Policy, path: string, args: readonly string[], options: JudgeOptions): Judgement {
  const resolveHostExecutables = !options.preserveProgramPaths;
  const { matchedRules, decision } = policy.checkAll(
    [[path, ...args]],
    (command) => (isDangerous(command) ? 'prompt' : 'allow'),
    { resolveHostExecutables, isTrusted: isSystemProgram },
  );
  const deciding = matchedRules.flatMap((match) =>
    'prefixRuleMatch' in match && match.prefixRuleMatch.decision === decision ? [match.prefixRuleMatch] : [],
  );
  return {
    decision: decision ?? 'allow',
    byRule: deciding.length > 0,
    namesPath: deciding.some((match) => isNamed(policy, match, path)),
    justification: mostSpecific(deciding)?.justification,
  };
}

/** Whether a program runs inside without further ado; rules hold for a whole call, so that `always` stands for all of it. */
export function passage(policy: Policy, path: string, args: readonly string[], options: JudgeOptions): Passage {
  if (!policy.mentions(path) && isHarmless(path)) return 'always';
  const { decision, byRule } = judge(policy, path, args, options);
  return decision === 'allow' && !byRule ? 'once' : 'no';
}

function isNamed(policy: Policy, { matchedPrefix, resolvedProgram }: RuleMatch, path: string): boolean {
  if (resolvedProgram === undefined) return matchedPrefix[0] === path;
  return policy.hostExecutables.get(basename(path))?.includes(path) ?? false;
}

function mostSpecific(matches: readonly RuleMatch[]): RuleMatch | undefined {
  return [...matches].sort((one, other) => other.matchedPrefix.length - one.matchedPrefix.length)[0];
}
