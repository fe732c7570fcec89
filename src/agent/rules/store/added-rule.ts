import type { NetworkProtocol, NetworkRule } from '../policy/network-rule.ts';
import type { PrefixRule } from '../policy/prefix-rule.ts';
import { Policy } from '../policy/rule-set.ts';

/** A rule that an answer of the user adds. */
export type AddedRule =
  | { readonly kind: 'prefix'; readonly pattern: readonly string[] }
  | {
      readonly kind: 'network';
      readonly host: string;
      readonly protocol: NetworkProtocol;
      readonly decision: 'allow' | 'deny';
    };

/** The rule as a line of a rules file, which the parser reads back as the same rule. */
export function ruleLine(rule: AddedRule): string {
  if (rule.kind === 'network') {
    const { host, protocol, decision } = rule;
    return `network_rule(host=${quoted(host)}, protocol=${quoted(protocol)}, decision=${quoted(decision)})`;
  }
  if (rule.pattern.length === 0) throw new Error('a rule needs at least one word');
  return `prefix_rule(pattern=[${rule.pattern.map(quoted).join(', ')}], decision="allow")`;
}

/** The same policy with one rule more, as if the line had been the last of its files. */
export function withRule(policy: Policy, rule: AddedRule): Policy {
  const { prefixRules, networkRules, hostExecutables } = policy;
  if (rule.kind === 'network') return new Policy(prefixRules, [...networkRules, networkRule(rule)], hostExecutables);
  return new Policy([...prefixRules, prefixRule(rule.pattern)], networkRules, hostExecutables);
}

function prefixRule([first, ...rest]: readonly string[]): PrefixRule {
  return { first: first!, rest: rest.map((word) => [word]), decision: 'allow' };
}

function networkRule({ host, protocol, decision }: AddedRule & { kind: 'network' }): NetworkRule {
  return { host, protocol, decision: decision === 'deny' ? 'forbidden' : 'allow' };
}

/** JSON strings are strings of the rules language too, except those with lone surrogates. */
function quoted(text: string): string {
  if (/\p{Surrogate}/u.test(text)) throw new Error('a rule cannot hold text that is not Unicode');
  return JSON.stringify(text);
}
