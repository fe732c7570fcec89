export { isDangerous } from './dangerous-command.ts';
export { loadPolicy, type RulesFile } from './load-policy.ts';
export { compileHosts, type NetworkProtocol, type NetworkRule } from './network-rule.ts';
export { plainCommands } from './plain-commands.ts';
export { type CheckOptions, type Evaluation, type Match, Policy } from './policy.ts';
export type { Decision, PrefixRule, RuleMatch } from './prefix-rule.ts';
export { RulesError } from './rules-error.ts';
