import { describe, expect, it } from 'vitest';
import type { EnvPolicy } from '../../protocol/index.ts';
import { childEnvironment } from './child-environment.ts';

/** The environment of the server in the recordings. */
const own = {
  CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: 'n',
  CODEX_HOME: '/codex',
  EXTRA_ONE: 'e1',
  FOO_VISIBLE: '1',
  GH_TOKEN: 't',
  HOME: '/home',
  LANG: 'C',
  LC_ALL: 'C',
  MONKEY: 'm',
  MY_API_KEY: 'k',
  PATH: '/bin',
  SHELL: '/bin/sh',
  TMPDIR: '/tmp',
  USER: 'u',
  my_secret_x: 's',
};

const everything: EnvPolicy = { inherit: 'all', ignoreDefaultExcludes: false, exclude: [], set: {}, includeOnly: [] };
const nothing: EnvPolicy = { ...everything, inherit: 'none' };

const names = (
  policy: EnvPolicy | undefined,
  env: Record<string, string> = {},
  server: Record<string, string> = own,
): string =>
  Object.keys(childEnvironment(server, policy, env))
    .sort()
    .join(' ');

describe('the environment of a child', () => {
  it.each<[string, EnvPolicy | undefined, Record<string, string>, string]>([
    ['without a policy is env alone', undefined, { A: '1' }, 'A'],
    [
      'inherits everything but secrets',
      everything,
      {},
      'CODEX_HOME EXTRA_ONE FOO_VISIBLE HOME LANG LC_ALL PATH SHELL TMPDIR USER',
    ],
    [
      'inherits secrets when asked, but never those of the server',
      { ...everything, ignoreDefaultExcludes: true },
      {},
      'CODEX_HOME EXTRA_ONE FOO_VISIBLE GH_TOKEN HOME LANG LC_ALL MONKEY MY_API_KEY PATH SHELL TMPDIR USER my_secret_x',
    ],
    ['inherits the core', { ...everything, inherit: 'core' }, {}, 'HOME LANG LC_ALL PATH SHELL TMPDIR USER'],
    ['inherits nothing', nothing, {}, ''],
    [
      'has what is set and laid over it, secrets or not',
      { ...nothing, set: { SET_KEY: '1', B: '2' } },
      { OVER_TOKEN: 'x', A: '1' },
      'A B OVER_TOKEN SET_KEY',
    ],
    [
      'lacks what is excluded',
      { ...everything, exclude: ['foo_*', 'EXTRA_???'] },
      {},
      'CODEX_HOME HOME LANG LC_ALL PATH SHELL TMPDIR USER',
    ],
    [
      'has only what is included, of what is set too, but all of env',
      { ...everything, set: { ZED: '1' }, includeOnly: ['PATH', 'H*E'] },
      { A: '1' },
      'A HOME PATH',
    ],
    [
      'has only what is included of what is set',
      { ...nothing, set: { ZED: '1', ONE: '1' }, includeOnly: ['z*'] },
      {},
      'ZED',
    ],
  ])('%s', (_, policy, env, expected) => {
    expect(names(policy, env)).toBe(expected);
  });

  it('prefers a variable of set to its exclusion, and env to both', () => {
    const policy = { ...everything, exclude: ['EXTRA_ONE'], set: { EXTRA_ONE: 'set', HOME: 'set' } };

    expect(childEnvironment(own, policy, { HOME: 'env' })).toMatchObject({ EXTRA_ONE: 'set', HOME: 'env', USER: 'u' });
  });

  it('never has variables of the server, from any source and in any case of letters', () => {
    const secret = Object.fromEntries(
      [
        'CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN',
        'codex_exec_server_noise_auth_token',
        'NODE_REPL_AUTH_TOKEN',
        'OPENAI_FEDERATION_RULE_ID',
        'OPENAI_IDENTITY_TOKEN_FILE',
        'OPENAI_WORKLOAD_IDENTITY_CONTEXT',
        'CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE',
      ].map((name) => [name, 'x']),
    );
    const unfiltered = { ...everything, ignoreDefaultExcludes: true };

    expect(names(undefined, { ...secret, CODEX_THREAD_ID: 't' })).toBe('CODEX_THREAD_ID');
    expect(names({ ...unfiltered, set: secret }, secret, secret)).toBe('');
  });

  it('compares names of the core without case', () => {
    expect(names({ ...everything, inherit: 'core' }, {}, { path: '1', Home: '2', PATHS: '3' })).toBe('Home path');
  });

  it('keeps unusual names as they are', () => {
    expect(childEnvironment({}, undefined, { 'A=B': 'c', '': 'd', '\u00fc': 'e' })).toEqual({
      'A=B': 'c',
      '': 'd',
      '\u00fc': 'e',
    });
  });
});

describe('a glob', () => {
  const matches = (glob: string, name: string): boolean =>
    names({ ...everything, includeOnly: [glob] }, {}, { [name]: '' }) !== '';

  it.each([
    ['FOO', 'foo', true],
    ['FOO', 'FOOD', false],
    ['OO', 'FOO', false],
    ['F*', 'F', true],
    ['', 'F', false],
    ['F**O', 'FO', true],
    ['*O*B*', 'FOOBAR', true],
    ['*O*B', 'FOOBAR', false],
    ['A*B*C', 'AxBxxBxC', true],
    ['?OO', 'FOO', true],
    ['?OO', 'OO', false],
    ['F?', 'F', false],
    ['?', '\ud83d\ude00', true],
    ['*?', 'a\nb', true],
    ['[FG]OO', 'FOO', false],
    ['[FG]OO', '[fg]oo', true],
    ['A.B', 'AXB', false],
    ['A\\*', 'A*', false],
    ['A\\*', 'A\\x', true],
    ['(A|B)+^$', '(a|b)+^$', true],
  ])('%j and %j: %s', (glob, name, expected) => {
    expect(matches(glob, name)).toBe(expected);
  });

  it('with many stars is matched in linear time', () => {
    expect(matches(`${'*A'.repeat(20)}*B`, 'A'.repeat(60))).toBe(false);
  });
});
