import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isDangerous, isHarmless } from './dangerous-command.ts';

const inShell = (script: string) => isDangerous(['bash', '-lc', script]);

describe('a dangerous command', () => {
  it.each([
    [['rm', '-rf', 'x']],
    [['/bin/rm', 'x', '-vf']],
    [['rm', '--force', 'x']],
    [['sudo', 'rm', '-f', 'x']],
    [['env', '-i', 'A=b', '--', 'rm', '-f', 'x']],
    [['trap', 'rm -f x', 'EXIT']],
  ])('is forced removal, also behind another: %j', (command) => {
    expect(isDangerous(command)).toBe(true);
  });

  it.each([
    'ls; rm -rf x',
    'if true; then rm -f x; fi',
    'a=$(rm -f x)',
    'echo "`rm -f x`"',
    'echo "$(rm -f "x")"',
    '(cd y && A=b rm -f x) > z 2>&1',
    "bash -c 'rm -f x'",
    'while read x; do >y rm "-f" $x; done',
    'r\\m -f x',
  ])('is found wherever it stands in a script: %s', (script) => {
    expect(inShell(script)).toBe(true);
  });

  it('is whatever hides too deep', () => {
    expect(isDangerous([...Array.from({ length: 9 }, () => 'sudo'), 'ls'])).toBe(true);
    expect(isDangerous([...Array.from({ length: 8 }, () => 'sudo'), 'ls'])).toBe(false);
  });

  it.each([[['rm', 'x']], [['rm', '--', '-f']], [['rm', '--verbose-file']], [['env']], [['ls', '-f']], [[]]])(
    'is not %j',
    (command) => {
      expect(isDangerous(command)).toBe(false);
    },
  );

  it.each(['rm x', "echo 'rm -f x'", 'echo rm -f', 'ls # rm -f x', 'echo "rm -f"'])('is not in %s', (script) => {
    expect(inShell(script)).toBe(false);
  });
});

describe('a harmless program', () => {
  const words = fc.constantFrom('rm', '-f', '-c', '-lc', 'sudo', 'env', 'sh', 'bash', 'trap', 'ls', 'rm -f x', '--');
  const programs = fc.constantFrom('rm', 'sudo', 'env', 'trap', 'bash', 'zsh', 'sh', 'ls', 'cat', 'rmdir', 'dash', '');

  it('is dangerous with no arguments whatever', () => {
    fc.assert(
      fc.property(
        programs,
        fc.constantFrom('', '/bin/', './'),
        fc.array(words, { maxLength: 4 }),
        (name, place, args) => {
          if (isHarmless(`${place}${name}`)) expect(isDangerous([`${place}${name}`, ...args])).toBe(false);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('is any but those that remove, or hide others', () => {
    expect(['/bin/ls', 'git', '/usr/bin/python3'].map(isHarmless)).toEqual([true, true, true]);
    expect(['/bin/rm', 'sudo', '/usr/bin/env', 'trap', 'sh'].map(isHarmless)).toEqual(Array(5).fill(false));
  });
});
