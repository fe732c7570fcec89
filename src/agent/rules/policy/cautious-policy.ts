import { Policy } from './rule-set.ts';

/**
 * The rules while a file cannot be read: those from before and those that can be read, where `allow` becomes `prompt`, as the
 * unread file may forbid what another one allows.
 */
export function cautiousPolicy(policies: readonly Policy[]): Policy {
  return new Policy(
    policies
      .flatMap(({ prefixRules }) => prefixRules)
      .map((rule) => (rule.decision === 'allow' ? { ...rule, decision: 'prompt' } : rule)),
    policies.flatMap(({ networkRules }) => networkRules).filter(({ decision }) => decision !== 'allow'),
  );
}
