import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Policy } from '../policy/rule-set.ts';
import { ruleLine, withRule } from './added-rule.ts';
import { loadPolicy } from './load-policy.ts';

const words = fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' })), { minLength: 1 });

describe('a rule made of an answer', () => {
  it('is spelled as Codex spells it', () => {
    expect(ruleLine({ kind: 'prefix', pattern: ['git', 'commit', '-m', 'a "b"'] })).toBe(
      'prefix_rule(pattern=["git", "commit", "-m", "a \\"b\\""], decision="allow")',
    );
    expect(ruleLine({ kind: 'network', host: 'example.com', protocol: 'https', decision: 'deny' })).toBe(
      'network_rule(host="example.com", protocol="https", decision="deny")',
    );
  });

  it('is read back word for word, and means the same as the rule added in memory', () => {
    fc.assert(
      fc.property(words, (pattern) => {
        const rule = { kind: 'prefix', pattern } as const;
        const read = loadPolicy([{ name: 'default.rules', text: `${ruleLine(rule)}\n` }]);

        expect(read.prefixRules).toEqual(withRule(new Policy([]), rule).prefixRules);
        expect(read.check(pattern)).toMatchObject({ decision: 'allow' });
      }),
    );
  });

  it('is one line, whatever is in it', () => {
    fc.assert(fc.property(words, (pattern) => !/[\n\r]/.test(ruleLine({ kind: 'prefix', pattern }))));
  });

  it('keeps network rules apart from prefix rules', () => {
    const rule = { kind: 'network', host: 'example.com', protocol: 'http', decision: 'deny' } as const;
    const read = loadPolicy([{ name: 'default.rules', text: ruleLine(rule) }]);

    expect(read.networkRules).toEqual([{ host: 'example.com', protocol: 'http', decision: 'forbidden' }]);
    expect(withRule(new Policy([]), rule).networkRules).toEqual(read.networkRules);
  });

  it('is refused without words or with half a character', () => {
    expect(() => ruleLine({ kind: 'prefix', pattern: [] })).toThrow('at least one word');
    expect(() => ruleLine({ kind: 'prefix', pattern: ['\ud800'] })).toThrow('not Unicode');
  });
});
