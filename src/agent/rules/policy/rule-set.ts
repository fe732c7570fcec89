import { basename, resolve } from 'node:path';
import type { NetworkRule } from './network-rule.ts';
import { type Decision, matchRule, type PrefixRule, type RuleMatch, strictest } from './prefix-rule.ts';

export interface CheckOptions {
  /** Matches rules for a bare name with paths that end in it, as far as `host_executable` permits. */
  readonly resolveHostExecutables?: boolean;
  /** The directory of relative program paths; the process's own by default. */
  readonly cwd?: string;
  /** Which paths a rule for a bare name may allow, besides those that `host_executable` lists; all by default. */
  readonly isTrusted?: (path: string) => boolean;
}

/** A matching rule; or the decision of a heuristic, for a command that no rule matches. */
export type Match =
  | { readonly prefixRuleMatch: RuleMatch }
  | { readonly heuristicsRuleMatch: { readonly command: readonly string[]; readonly decision: Decision } };

export interface Evaluation {
  readonly matchedRules: readonly Match[];
  /** The strictest of the matches; absent when there are none. */
  readonly decision?: Decision;
}

/** The rules of one or more files, ready to judge commands. */
export class Policy {
  readonly prefixRules: readonly PrefixRule[];
  readonly networkRules: readonly NetworkRule[];
  readonly hostExecutables: ReadonlyMap<string, readonly string[]>;
  readonly #byProgram = new Map<string, PrefixRule[]>();

  constructor(
    prefixRules: readonly PrefixRule[],
    networkRules: readonly NetworkRule[] = [],
    hostExecutables: ReadonlyMap<string, readonly string[]> = new Map(),
  ) {
    this.prefixRules = prefixRules;
    this.networkRules = networkRules;
    this.hostExecutables = hostExecutables;
    for (const rule of prefixRules) {
      this.#byProgram.set(rule.first, [...(this.#byProgram.get(rule.first) ?? []), rule]);
    }
  }

  /** Judges one command by the rules alone. */
  check(command: readonly string[], options: CheckOptions = {}): Evaluation {
    return evaluation(this.matches(command, options).map((prefixRuleMatch) => ({ prefixRuleMatch })));
  }

  /** Judges several commands that run as one; those without a rule get the heuristic's answer. */
  checkAll(
    commands: readonly (readonly string[])[],
    heuristic: (command: readonly string[]) => Decision,
    options: CheckOptions = {},
  ): Evaluation {
    return evaluation(
      commands.flatMap((command): Match[] => {
        const { matchedRules } = this.check(command, options);
        if (matchedRules.length > 0) return [...matchedRules];
        return [{ heuristicsRuleMatch: { command, decision: heuristic(command) } }];
      }),
    );
  }

  /** Whether a rule can match the program, depending on its arguments. */
  mentions(program: string): boolean {
    return this.#byProgram.has(program) || this.#byProgram.has(basename(program));
  }

  /** Every rule that matches, in the order of definition: those for the word as written first, and if none does, those for its basename. */
  matches(
    command: readonly string[],
    { resolveHostExecutables = false, cwd = process.cwd(), isTrusted = () => true }: CheckOptions,
  ): RuleMatch[] {
    const [program, ...rest] = command;
    if (program === undefined) return [];
    const exact = this.#matching(program, command);
    if (exact.length > 0 || !resolveHostExecutables) return exact;
    const path = resolve(cwd, program);
    const name = basename(path);
    const listed = this.hostExecutables.get(name);
    if (name === '' || listed?.includes(path) === false) return [];
    const found = this.#matching(name, [name, ...rest], path);
    return listed || isTrusted(path) ? found : found.filter(({ decision }) => decision !== 'allow');
  }

  #matching(program: string, command: readonly string[], path?: string): RuleMatch[] {
    return (this.#byProgram.get(program) ?? []).flatMap((rule) => matchRule(rule, command, path) ?? []);
  }
}

function evaluation(matchedRules: readonly Match[]): Evaluation {
  const decisions = matchedRules.map((match) =>
    'prefixRuleMatch' in match ? match.prefixRuleMatch.decision : match.heuristicsRuleMatch.decision,
  );
  const decision = strictest(decisions);
  return decision === undefined ? { matchedRules } : { matchedRules, decision };
}

/**
 * Whether a path lies in a program directory of the system. A rule for a bare name such as `git` lets only these programs leave
 * the sandbox: `./git` may come from a command or a repository.
 */
export const isSystemProgram = (path: string): boolean => /^(?:\/usr(?:\/local)?)?\/s?bin\/[^/]+$/.test(path);
