import { describe, expect, it } from 'vitest';
import { describeOptions, parseOptions } from './arguments.ts';
import { UsageError } from './usage-error.ts';

const options = {
  listen: { type: 'string', value: 'URL', help: 'where to listen' },
  env: { type: 'string', value: 'K=V', multiple: true, help: 'a variable' },
  verbose: { type: 'boolean', short: 'v', help: 'say more' },
} as const;

describe('arguments', () => {
  it('are options with values, switches and the rest', () => {
    expect(
      parseOptions(['--listen', 'stdio', '-v', 'cmd', '--env=A=1', '--env', 'B=2', '--', '-x', '--listen'], options),
    ).toEqual({
      values: { listen: 'stdio', verbose: true, env: ['A=1', 'B=2'] },
      positionals: ['cmd', '-x', '--listen'],
    });
  });

  it('may hold an empty value and a lone dash', () => {
    expect(parseOptions(['--listen=', '-'], options)).toEqual({ values: { listen: '' }, positionals: ['-'] });
  });

  it.each([
    [['--lisen', 'x'], '--lisen'],
    [['-x'], '-x'],
    [['-undefined', 'x'], '-undefined'],
    [['--listen'], '--listen'],
    [['--verbose=maybe'], '--verbose'],
  ])('%j are wrong usage, and the error names the argument', (argv, culprit) => {
    expect(() => parseOptions(argv, options)).toThrow(UsageError);
    expect(() => parseOptions(argv, options)).toThrow(culprit);
  });

  it('are described one by one', () => {
    expect(describeOptions(options)).toBe(
      [
        '      --listen <URL>',
        '          where to listen',
        '      --env <K=V>',
        '          a variable',
        '  -v, --verbose',
        '          say more',
      ].join('\n'),
    );
  });
});
