import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadPolicy } from '../store/load-policy.ts';
import { compileHosts } from './network-rule.ts';
import type { Decision, PrefixRule } from './prefix-rule.ts';
import { Policy } from './rule-set.ts';

const word = fc.constantFrom('a', 'b', 'c', '');
const decision = fc.constantFrom<Decision>('allow', 'prompt', 'forbidden');
const rule: fc.Arbitrary<PrefixRule> = fc.record({
  first: word,
  rest: fc.array(fc.array(word, { minLength: 1, maxLength: 2 }), { maxLength: 2 }),
  decision,
});

/** The definition of a match, spelled out: some choice of alternatives is what the command begins with. */
function matchesNaively({ first, rest }: PrefixRule, command: readonly string[]): boolean {
  const spelled = rest.reduce<string[][]>(
    (all, words) => all.flatMap((one) => words.map((next) => [...one, next])),
    [[first]],
  );
  return spelled.some((one) => one.every((expected, at) => at < command.length && command[at] === expected));
}

describe('a policy', () => {
  it('reports exactly the rules that match, in the order of definition, and the strictest of them decides', () => {
    fc.assert(
      fc.property(
        fc.array(rule, { maxLength: 6 }),
        fc.array(word, { minLength: 1, maxLength: 4 }),
        (rules, command) => {
          const expected = rules.filter((one) => matchesNaively(one, command));
          const strictest = (['forbidden', 'prompt', 'allow'] as const).find((one) =>
            expected.some((match) => match.decision === one),
          );

          expect(new Policy(rules).check(command)).toEqual({
            matchedRules: expected.map((one) => ({
              prefixRuleMatch: { matchedPrefix: command.slice(0, one.rest.length + 1), decision: one.decision },
            })),
            ...(strictest && { decision: strictest }),
          });
        },
      ),
    );
  });

  it('means the same written out as rules', () => {
    fc.assert(
      fc.property(
        fc.array(rule, { maxLength: 4 }),
        fc.array(word, { minLength: 1, maxLength: 3 }),
        (rules, command) => {
          const text = rules
            .map(({ first, rest, decision }) => `prefix_rule(${JSON.stringify([first, ...rest])}, "${decision}")`)
            .join('\n');

          expect(loadPolicy([{ name: 'r', text }]).check(command)).toEqual(new Policy(rules).check(command));
        },
      ),
    );
  });

  it('lets a rule for a name speak for a listed path only', () => {
    const policy = loadPolicy([
      { name: 'r', text: 'prefix_rule(["git"])\nhost_executable("git", ["/usr/bin/git", "/w/git"])' },
    ]);
    const resolved = (program: string) =>
      policy.check([program], { resolveHostExecutables: true, cwd: '/w' }).matchedRules.length;

    expect(['/usr/bin/git', '/usr/bin/../bin/git', './git', 'git', '/opt/git', '../git'].map(resolved)).toEqual([
      1, 1, 1, 1, 0, 0,
    ]);
  });

  it('knows no name for the root directory', () => {
    const policy = loadPolicy([{ name: 'r', text: 'prefix_rule([""])' }]);

    expect(policy.check(['/'], { resolveHostExecutables: true })).toEqual({ matchedRules: [] });
  });

  it('judges several commands together, the heuristic those without a rule', () => {
    const policy = loadPolicy([{ name: 'r', text: 'prefix_rule(["ls"])' }]);

    expect(policy.checkAll([['ls'], ['make', 'x']], () => 'prompt')).toEqual({
      matchedRules: [
        { prefixRuleMatch: { matchedPrefix: ['ls'], decision: 'allow' } },
        { heuristicsRuleMatch: { command: ['make', 'x'], decision: 'prompt' } },
      ],
      decision: 'prompt',
    });
  });
});

describe('network rules', () => {
  it('name hosts without port and case, and the last rule for a host counts', () => {
    const { networkRules } = loadPolicy([
      {
        name: 'r',
        text: [
          'network_rule("API.x.com.:443", "https_connect", "allow", "why")',
          'network_rule("[::1]:80", "http", "deny")',
          'network_rule("y.com", "socks5_tcp", "allow")',
          'network_rule("y.com", "http", "deny")',
          'network_rule("api.x.com", "http", "prompt")',
        ].join('\n'),
      },
    ]);

    expect(networkRules[0]).toEqual({ host: 'api.x.com', protocol: 'https', decision: 'allow', justification: 'why' });
    expect(compileHosts(networkRules)).toEqual({ allowed: ['api.x.com'], denied: ['::1', 'y.com'] });
  });
});
