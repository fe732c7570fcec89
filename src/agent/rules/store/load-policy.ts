import { quoted } from '../../../base/index.ts';
import { assignedNames } from '../language/assigned-names.ts';
import { builtins } from '../language/builtins.ts';
import { Interpreter, importRefusal } from '../language/interpreter.ts';
import { checkNames } from '../language/names.ts';
import { parse } from '../language/parser.ts';
import { LanguageError, RulesError } from '../language/rules-error.ts';
import { Source, type Span } from '../language/source.ts';
import type { Value } from '../language/value.ts';
import { Variables } from '../language/variables.ts';
import { describeMatch, describeRule } from '../policy/description.ts';
import type { NetworkRule } from '../policy/network-rule.ts';
import type { PrefixRule } from '../policy/prefix-rule.ts';
import { type PrefixRuleCall, ruleFunctions } from '../policy/rule-functions.ts';
import { Policy } from '../policy/rule-set.ts';
import { joinWords } from '../shell/words.ts';

/** One rules file, as read. */
export interface RulesFile {
  readonly name: string;
  readonly text: string;
}

/** Runs rules files one after the other; their rules add up. Throws a `RulesError` at the first mistake. */
export function loadPolicy(files: readonly RulesFile[]): Policy {
  const prefixRules: PrefixRule[] = [];
  const networkRules: NetworkRule[] = [];
  const hostExecutables = new Map<string, readonly string[]>();
  for (const { name, text } of files) {
    const source = new Source(name, text);
    const calls: (PrefixRuleCall & { readonly span: Span })[] = [];
    const interpreter = new Interpreter(source);
    const functions = ruleFunctions({
      prefixRule: (call) => {
        prefixRules.push(...call.rules);
        calls.push({ ...call, span: interpreter.callSite });
      },
      networkRule: (rule) => networkRules.push(rule),
      hostExecutable: (program, paths) => hostExecutables.set(program, paths),
    });
    run(source, interpreter, new Map([...builtins, ...functions.map((one) => [one.displayName, one] as const)]));
    for (const call of calls) checkExamples(call, hostExecutables, source);
  }
  return new Policy(prefixRules, networkRules, hostExecutables);
}

function run(source: Source, interpreter: Interpreter, globals: ReadonlyMap<string, Value>): void {
  const statements = parse(source);
  checkNames(source, statements, globals.keys());
  const load = statements.find((statement) => statement.kind === 'load');
  if (load) throw new LanguageError(importRefusal(load.module), source, load);
  interpreter.run(statements, new Variables(new Set(assignedNames(statements)), globals));
}

/** Checks the examples of a `prefix_rule` call against the rules of that call alone. */
function checkExamples(
  { rules, match, notMatch, span }: PrefixRuleCall & { readonly span: Span },
  hostExecutables: ReadonlyMap<string, readonly string[]>,
  source: Source,
): void {
  const policy = new Policy(rules, [], hostExecutables);
  const matches = (command: readonly string[]) => policy.matches(command, { resolveHostExecutables: true });
  for (const command of notMatch) {
    const [found] = matches(command);
    if (!found) continue;
    const reason = `expected example to not match rule \`${describeMatch(found)}\`: ${joinWords(command)}`;
    throw new RulesError(reason, source, span);
  }
  const unmatched = match.filter((command) => matches(command).length === 0);
  if (unmatched.length === 0) return;
  const shownRules = rules.map((rule) => quoted(describeRule(rule))).join(', ');
  const shownExamples = unmatched.map((command) => quoted(joinWords(command))).join(', ');
  throw new RulesError(
    `expected every example to match at least one rule. rules: [${shownRules}]; unmatched examples: [${shownExamples}]`,
    source,
    span,
  );
}
