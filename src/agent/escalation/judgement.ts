import { basename } from 'node:path';
import {
  type Decision,
  isDangerous,
  isHarmless,
  isSystemProgram,
  type Policy,
  type RuleMatch,
} from '../rules/index.ts';
import type { SeenAnswer } from './broker.ts';

/** The verdict of the rules about a program that is to be executed. */
export interface Judgement {
  readonly decision: Decision;
  /** Whether a rule decides, and not the heuristic: a program that a rule allows may leave the sandbox. */
  readonly byRule: boolean;
  /** Whether a rule names this exact path, which is then trusted wherever it lies. */
  readonly ruleNamesPath: boolean;
  /** The justification of the most specific rule among those that decide. */
  readonly justification: string | undefined;
}

export interface JudgeOptions {
  /** Rules match the full path alone; those for a bare name do not count. */
  readonly preserveProgramPaths: boolean;
}

/** Judges an absolute path and its arguments; `argv[0]`, which the caller can set to any text, does not count. */
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
    ruleNamesPath: deciding.some((match) => isNamed(policy, match, path)),
    justification: mostSpecific(deciding)?.justification,
  };
}

/** Answers a `seen` report by path and arguments. The rules of a call do not change, so `allow-path` holds to its end. */
export function answerToSeen(policy: Policy, path: string, args: readonly string[], options: JudgeOptions): SeenAnswer {
  if (!policy.mentions(path) && isHarmless(path)) return 'allow-path';
  const { decision, byRule } = judge(policy, path, args, options);
  return decision === 'allow' && !byRule ? 'run' : 'inspect';
}

function isNamed(policy: Policy, { matchedPrefix, resolvedProgram }: RuleMatch, path: string): boolean {
  if (resolvedProgram === undefined) return matchedPrefix[0] === path;
  return policy.hostExecutables.get(basename(path))?.includes(path) ?? false;
}

function mostSpecific(matches: readonly RuleMatch[]): RuleMatch | undefined {
  return [...matches].sort((one, other) => other.matchedPrefix.length - one.matchedPrefix.length)[0];
}
