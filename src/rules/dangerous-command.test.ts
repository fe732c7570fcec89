import { describe, expect, it } from 'vitest';
import { isDangerous } from './dangerous-command.ts';

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
