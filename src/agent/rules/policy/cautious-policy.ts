import { Policy } from './rule-set.ts';

/**
 * The rules to judge by while some of them cannot be read: those from before and those that can be read now, with the strictest of
 * each, and none that allows anything. What is allowed by one file the unread one may forbid.
 */
export function cautiousPolicy(policies: readonly Policy[]): Policy {
  return new Policy(
    policies
      .flatMap(({ prefixRules }) => prefixRules)
      .map((rule) => (rule.decision === 'allow' ? { ...rule, decision: 'prompt' } : rule)),
    policies.flatMap(({ networkRules }) => networkRules).filter(({ decision }) => decision !== 'allow'),
  );
}
