import { describe, expect, it } from 'vitest';
import { recordedChecks } from '../../../../test/support/recorded-checks.ts';
import { RulesError } from '../language/rules-error.ts';
import type { CheckOptions } from '../policy/rule-set.ts';
import { loadPolicy } from './load-policy.ts';

const load = (...texts: string[]) => loadPolicy(texts.map((text, at) => ({ name: `p${at}.rules`, text })));

/** What `check` answers, or the message of the error that kept it from answering. */
function answer(texts: readonly string[], command: readonly string[], options: CheckOptions = {}): string {
  try {
    return JSON.stringify(load(...texts).check(command, options));
  } catch (error) {
    if (!(error instanceof RulesError)) throw error;
    return error.message;
  }
}

const errorOf = (text: string): RulesError => {
  try {
    load(text);
  } catch (error) {
    if (error instanceof RulesError) return error;
    throw error;
  }
  throw new Error('these rules are fine');
};

describe('rules recorded with the reference', () => {
  it.each(recordedChecks.map((one) => [one.name, one] as const))('get the same answer: %s', (_, one) => {
    const command = one.command[0] === '--' ? one.command.slice(1) : one.command;
    const resolveHostExecutables = one.flags.includes('--resolve-host-executables');
    const cause = one.stderr.replace(/^Error: .*\n\nCaused by:\n/, '').replace(/^ {4}/gm, '');
    const expected = (one.stdout || cause).replace('<cwd>', '/cwd');

    expect(answer(one.rules, command, { resolveHostExecutables, cwd: '/cwd' })).toBe(expected);
  });
});

describe('a mistake in the rules', () => {
  it('is told with its file and position, columns counted in characters', () => {
    const { source, position } = errorOf('x = 1\ny = "é→😀" + zz');

    expect({ source, position }).toEqual({ source: 'p0.rules', position: { line: 2, column: 13 } });
  });

  it('is shown with the lines it covers', () => {
    expect(errorOf('prefix_rule(\n  pattern=["a"],\n  decision="no",\n)').message).toBe(
      [
        'starlark error: Traceback (most recent call last):',
        '  * p0.rules:1, in <module>',
        '      prefix_rule(',
        'error: invalid decision: no',
        ' --> p0.rules:1:1',
        '  |',
        '1 | / prefix_rule(',
        '2 | |   pattern=["a"],',
        '3 | |   decision="no",',
        '4 | | )',
        '  | |_^',
        '  |',
        '',
      ].join('\n'),
    );
  });

  it('in an example is told with the position of its rule', () => {
    const { message, position } = errorOf('\n\nprefix_rule(["a"], match=["b \'c d\'"])');

    expect(position).toEqual({ line: 3, column: 1 });
    expect(message).toContain(`unmatched examples: ["b 'c d'"]`);
  });

  it.each([
    ['prefix_rule(["a"] decision="x")', "Parse error: unexpected identifier 'decision', expected symbol ')'"],
    ['x = 1 < 2 < 3', "Parse error: unexpected symbol '<', expected end of expression"],
    ['def f(a=1, b): pass', 'positional parameter after non positional'],
    ['f(a=1, a=2)', 'repeated named argument'],
    ['1 = 2', 'left-hand-side of assignment must take the form'],
    ['return 1', '`return` cannot be used outside of a `def` function'],
    ['x = "\\x4"', 'invalid string escape sequence `x4"`'],
    ['x = f"{a"', 'f-string expression is missing closing `}`'],
    ['if True:\n    x = 1\n  y = 2', 'incorrect indentation'],
    ['prefix_rules(["a"])', 'Variable `prefix_rules` not found, did you mean `prefix_rule`?'],
    ['"a".uper()', 'Object of type `string` has no attribute `uper`, did you mean `upper`?'],
    ['def f():\n  return x\nf()\nx = 1', 'Local variable `x` referenced before assignment'],
    ['x = [1]\nfor y in x:\n  x.append(2)', 'This operation mutates an iterable for an iterator while iterating.'],
    ['x = {}["a"]', 'Key `"a"` was not found'],
    ['a, b = [1]', 'Unpacked 1 values but expected 2'],
    ['x = 1 // 0', 'Floor division by zero: 1 // 0'],
    ['def f(x: str): pass\nf(1)', 'Value `1` of type `int` does not match the type annotation `str` for argument `x`'],
    ['prefix_rule(["a"], pattern=["b"])', 'Argument `pattern` occurs more than once'],
    ['network_rule("[::1", "http", "allow")', 'network_rule host has an invalid bracketed IPv6 literal'],
    ['host_executable("git", ["/usr/bin/git/x"])', 'must have basename `git`'],
  ])('is named: %s', (text, reason) => {
    expect(errorOf(text).message).toContain(reason);
  });
});

describe('rules that would go on for ever', () => {
  it.each([
    ['x = [1 for a in range(9000) for b in range(9000)]', 'Gave up after 1000000 steps'],
    ['x = "a" * 1000000000', 'Value is too large'],
    ['x = [0]\nfor i in range(40): x = x + x', 'Value is too large'],
    ['x = list(range(1000000000))', 'Value is too large'],
    ['x = 1\nfor i in range(40): x = (x << 9) * (x << 9)', 'Integer overflow'],
    [`x = ${'('.repeat(5000)}`, 'expression is nested too deeply'],
    ['def f(n): return f(n)\nf(1)', 'Starlark call stack overflow'],
  ])('are given up: %s', (text, reason) => {
    expect(errorOf(text).message).toContain(reason);
  });
});

describe('the rules language', () => {
  /** What a program says with `fail`, by far the shortest way to look at values. */
  const said = (text: string): string => /error: fail: (.*)/.exec(errorOf(text).message)![1]!;

  it.each([
    ['fail([x * y for x in range(3) for y in range(x) if x != y])', '[0, 0, 2]'],
    ['fail({k: v for k, v in [("a", None)]}.get("a", 3))', 'None'],
    ['fail(f"{1 + 1}-{"x"!r}{{}}", "%s %r %d%%" % ("a", "b", 3), "{1}{0}".format(1, 2))', '2-"x"{} a "b" 3% 21'],
    ['fail("a\\x41\\u0042\\103", r"\\d", """x\'y""")', "aABC \\d x'y"],
    ['fail(-7 // 2, -7 % 3, 7 / 2, 1 << 70, 5 & 3, ~5)', '-4 2 3.5 1180591620717411303424 1 -6'],
    ['fail("abc"[::-1], [1, 2, 3][-2:], range(9)[2:4], "é→😀"[2] == "😀")', 'cba [2, 3] range(2, 4) True'],
    [
      'def f(a, b=2, *c, d=4, **e): return [a, b, c, d, e]\nfail(f(1), f(1, 3, 5, d=0, z=9))',
      '[1, 2, (), 4, {}] [1, 3, (5,), 0, {"z": 9}]',
    ],
    ['def f():\n  def g(): return x\n  x = 5\n  return g()\nfail(f())', '5'],
    ['x = [3, 1]\nx += [2]\nx[0] *= 2\nfail(sorted(x, key=lambda v: -v), x)', '[6, 2, 1] [6, 1, 2]'],
    ['for i in range(9):\n  if i == 1: continue\n  if i == 3: break\nfail(i)', '3'],
    [
      'fail(" a b ".split(), "aXbXc".rsplit("X", 1), "a-b".partition("-"), "b".join(["a", "c"]))',
      '["a", "b"] ["aXb", "c"] ("a", "-", "b") abc',
    ],
    ['fail(repr("é\\n\\"→"), 1.0, 1e30, None, True, (1,))', '"\\xe9\\n\\"\\u2192" 1.0 1e+30 None True (1,)'],
  ])('works out %s', (text, value) => {
    expect(said(text)).toBe(value);
  });
});
